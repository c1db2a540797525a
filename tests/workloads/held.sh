# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=dash
#
# Memory that whoever is killed does not hold, and that stays when he is gone. Sourced after
# scenarios.sh, whose variables and functions it uses.

# held_and_pushed NAME LIMIT_MIB EATER_ARGUMENTS...: one holds most of it and lives; another one fills
# the rest, and dies.
held_and_pushed()
{
	begin "$1" 1
	make_cgroup "$1" "$2"
	shift 2
	eat_in "$DIR" -S "$@"
	holder=$PID
	wait_full "$holder"
	eat_in "$DIR" -S -c pusher anon 64
	reap "$PID"
	kill_pid "$holder"
	drop_cgroup "$DIR"
	end
}

# A big one lives on because nothing may kill it.
s_immune()
{
	can_lower_adj immune || return 0
	held_and_pushed immune 32 -j -1000 -c immune anon 22
}

# Pages of pipes: charged as the kernel's, in no process's resident set, and of a kind that memory.stat
# has a name for since 5.18 only.
s_pipes() { held_and_pushed pipes 32 -c holder pipes 26; }

# throttled_writes +|- DIRTY_PERCENT BACKGROUND_PERCENT: whether cgroups have io limits, and from when on writers
# are slowed down.
throttled_writes()
{
	if [ "$1" = + ]; then
		echo +io >/sys/fs/cgroup/cgroup.subtree_control
		echo +io >"$CG/cgroup.subtree_control"
	else
		echo -io >"$CG/cgroup.subtree_control"
		echo -io >/sys/fs/cgroup/cgroup.subtree_control
	fi
	echo "$2" >/proc/sys/vm/dirty_ratio
	echo "$3" >/proc/sys/vm/dirty_background_ratio
}

# A disk in RAM (the caller has loaded its module) that takes two pages a second from this cgroup, and a writer that
# nobody slows down: what it wrote waits, and cannot be dropped when another one asks. A disk is written on behalf of
# whoever wrote to it first: it must be a new one.
s_dirty()
{
	[ "$CGVER" = v2 ] || return 0
	begin dirty 1
	throttled_writes + 90 80
	make_cgroup dirty 32
	number=$(cat /sys/class/zram-control/hot_add)
	echo 64M >"/sys/block/zram$number/disksize"
	disk=$(cat "/sys/block/zram$number/dev")
	echo "$disk wiops=2" >"$DIR/io.max"
	eat_in "$DIR" -S -c writer -f "/dev/zram$number" write 24
	writer=$PID
	wait_full "$writer"
	eat_in "$DIR" -S -c pusher anon 64
	reap "$PID"
	# Whoever closes a disk waits for all that was written.
	echo "$disk wiops=max" >"$DIR/io.max"
	kill_pid "$writer"
	drop_cgroup "$DIR"
	echo "$number" >/sys/class/zram-control/hot_remove
	throttled_writes - 20 10
	end
}

# Pipe buffers fill all memory but the part that the boot line left to movable memory. Whoever made them is the one to die: it
# holds next to nothing that its points would show. Its pipes are freed later than its memory: should that not be enough
# until then there are others to take, or the kernel would panic.
s_zone()
{
	begin zone 4
	spares=
	for _ in 1 2 3; do
		"$BIN/eat" -S -c zone-spare anon 2 >>"$OUT/work.$NAME" 2>&1 &
		spares="$spares $!"
	done
	for child in $spares; do
		wait_full "$child"
	done
	"$BIN/eat" -j 1000 -c zone-eater pipes 500 >>"$OUT/work.$NAME" 2>&1 &
	reap $!
	for child in $spares; do
		kill_pid "$child"
	done
	end
}

run_held_scenarios()
{
	s_immune
	s_pipes
}
