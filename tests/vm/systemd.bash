# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
#
# For guests whose initramfs is made of this machine's own programs, with systemd as the first process.

# add FILE...: at their places below $root, and what links lead to in the place of the links.
add()
{
	cp -L --parents "$@" "$root"
}

# add_programs FILE...: with the libraries of them all.
add_programs()
{
	local libraries

	libraries=$(ldd "$@" 2>/dev/null | grep -o '/[^ :]* (' | sed 's/ ($//' | sort -u)
	# shellcheck disable=SC2086 # a list of paths
	add "$@" $libraries
}

# What systemd needs as first process to start services, scopes and slices, and the bus over which it is asked to.
add_systemd()
{
	local units=(dbus.service dbus.socket sysinit.target basic.target sockets.target slices.target shutdown.target
		umount.target final.target poweroff.target systemd-poweroff.service user.slice machine.slice)

	add_programs /lib/systemd/systemd /usr/bin/dbus-daemon /bin/systemctl
	add "${units[@]/#//lib/systemd/system/}" /usr/share/dbus-1/system.conf \
		/usr/share/dbus-1/system.d/org.freedesktop.systemd1.conf
	mkdir -p "$root"/etc/dbus-1/system.d "$root"/etc/systemd/system
	: >"$root/etc/machine-id"
}
