# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=dash
#
# Who watches its own cgroup without any right (guests with cgroup v2): sourced by a guest's init. The
# machine's own tracer runs beside it, with all rights.

# The part inside, as uid 1000: DIR is its own, BIN the workloads; NESTED: a second kill, in a cgroup
# that is made within.
# shellcheck disable=SC2016 # the inner shell expands it
WATCHED='
cd "$DIR" || exit 1
/bin/oomsnoop --json --ready-fd 3 3>ready >records 2>stderr &
watcher=$!
until grep -q READY ready || ! kill -0 $watcher; do sleep 0.1; done
"$BIN/grow" -j 0 -i 60 -s 1024 anon 200 >work 2>&1
[ -z "$NESTED" ] || "$BIN/grow" -c nested-eater -w go -i 60 -s 1024 anon 200 >work.nested 2>&1
/bin/oomsnoop doctor --json >doctor 2>&1
kill -TERM $watcher
wait $watcher
echo $? >status
'

# Whoever is inside may not move anybody: it is done from outside, while the eater waits.
move_nested()
{
	until_true 300 grep -q event=ready "$1/work.nested" || return 1
	for process in /proc/[0-9]*; do
		[ "$(cat "$process/comm" 2>/dev/null)" = nested-eater ] || continue
		echo "${process#/proc/}" >"$2/nested/cgroup.procs"
	done
	: >"$1/go"
}

# box_in NAME: the cgroup is in $DIR. above: its limit is that of the one around it.
box_in()
{
	make_cgroup "self-$1" 48
	[ "$1" = above ] || return 0
	set_limit "$DIR" 24
	echo +memory >"$DIR/cgroup.subtree_control"
	DIR=$DIR/inner
	mkdir "$DIR"
}

# confined NAME NESTED OPTIONS...
confined()
{
	name=$1
	nested=$2
	shift 2
	box_in "$name"
	box=/tmp/self-$name
	mkdir "$box" "$DIR/main" "$DIR/nested"
	mkfifo "$box/go"
	chown -R 1000 "$box"
	[ -z "$nested" ] || move_nested "$box" "$DIR" &
	"$BIN/confine" "$@" "$DIR" /bin/sh -c "DIR=$box; BIN=$BIN; NESTED=$nested; $WATCHED"
	cat "$DIR/memory.events" >"$OUT/self-$name.events"
	for file in records stderr status work doctor; do
		cat "$box/$file" >"$OUT/self-$name.$file"
	done
	rmdir "$DIR/main" "$DIR/nested" "$DIR"
	[ "$name" != above ] || rmdir "${DIR%/inner}"
}

s_self()
{
	begin self 6
	chmod 755 / # it was the builder's own
	confined flat '' -n
	# Who watches is protected from outside: it looks the moment that the kill is counted, when the memory is not back.
	(
		echo -1000 >/proc/self/oom_score_adj
		confined above '' -n
	)
	confined namespace 1 -n -m
	confined host-root 1 -m
	end
}
