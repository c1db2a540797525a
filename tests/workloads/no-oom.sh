# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=dash
#
# What the OOM killer has no part in: SIGKILL by others, memory and processes that are not given, a
# cgroup at a standstill. Sourced after scenarios.sh, whose variables and functions it uses.

# sleepers_in DIR: three of them; their pids are in $SLEEPERS.
sleepers_in()
{
	SLEEPERS=
	for _ in 1 2 3; do
		sh -c "echo \$\$ >$1/cgroup.procs; exec sleep 600" &
		SLEEPERS="$SLEEPERS $!"
	done
	until_true 300 three_in "$1"
}

three_in()
{
	[ "$(wc -l <"$1/cgroup.procs")" -eq 3 ]
}

# Kills that are not the OOM killer's: of a whole cgroup by cgroup.kill (v2, since 5.14), else of each.
s_kills()
{
	begin kills 0
	make_cgroup kills 64
	sleepers_in "$DIR"
	if [ -e "$DIR/cgroup.kill" ]; then
		note "kills cgroup.kill$SLEEPERS"
		sh -c "echo 1 >$DIR/cgroup.kill; :"
	else
		note "kills each$SLEEPERS"
		sh -c "kill -9$SLEEPERS; :"
	fi
	# shellcheck disable=SC2086 # each is a pid
	reap $SLEEPERS
	drop_cgroup "$DIR"
	fill_tmpfs
	end
}

# Who finds a tmpfs full as it writes to a mapped file dies of SIGBUS.
fill_tmpfs()
{
	mkdir -p "$TMPFS/full"
	mount -t tmpfs -o size=256k full "$TMPFS/full"
	"$BIN/eat" -f "$TMPFS/full/file" file 1 >>"$OUT/work.$NAME" 2>&1 &
	note kills shm-full $!
	reap $!
	umount "$TMPFS/full"
}

# refuse_begin CAUSE CALL PLACE-AND-ARGUMENTS...: what the tracer must tell of it is noted, and it has its answer. Nothing
# is forked here until then: with vm.overcommit_memory 2 the kernel counts what it is about to refuse, and would refuse
# this shell, too.
refuse_begin()
{
	cause=$1
	call=$2
	shift 2
	mkfifo "$FIFO"
	exec 7<>"$FIFO"
	"$BIN/refuse" -c "rf-$cause-$call" "$@" >"$FIFO" 2>&1 7<&- &
	PID=$!
	# shellcheck disable=SC3045 # busybox has it
	while read -r -t 60 line <&7; do
		echo "$line" >>"$OUT/work.$NAME"
		case $line in
		*event=refused* | *event=given*) break ;;
		esac
	done
	exec 7<&-
	rm -f "$FIFO"
	note "$NAME" "$cause" "$call" "$PID"
}

# The same, to its end.
refuse()
{
	refuse_begin "$@"
	reap "$PID"
}

# refusal_told CALL CAUSE: nothing is to be waited for where refusals are not watched.
refusal_told()
{
	tracer_gone || ! grep -q '"refused":"' "$OUT/oomsnoop.ndjson" ||
		grep -q "\"call\":\"$1\".*\"comm\":\"rf-$2" "$OUT/oomsnoop.ndjson"
}

# Nobody is killed: the machine's rules are those of a guest alone.
s_refused()
{
	begin refused 0
	refuse rlimit-as mmap as 10 100
	refuse rlimit-data brk brk 10 100
	refuse rlimit-as mremap mremap 10 100
	refuse none none given 10 1
	# Room for one of 300 MiB beside all that is promised already, and not for a second one.
	while read -r key value _; do
		[ "$key" != Committed_AS: ] || echo $((value + 460800)) >/proc/sys/vm/overcommit_kbytes
	done </proc/meminfo
	echo 2 >/proc/sys/vm/overcommit_memory
	refuse commit-limit mmap map 4096
	# What is promised is read when it is told: until then it keeps what it has.
	refuse_begin commit-limit fork big 300
	until_true 100 refusal_told fork commit-limit || note "$NAME" untold commit-limit
	kill -USR1 "$PID"
	reap "$PID"
	echo 0 >/proc/sys/vm/overcommit_memory
	refuse overcommit mmap map 8192
	echo 1 >/proc/sys/vm/overcommit_memory
	refuse none none map 8192
	if [ "$CGVER" = v2 ]; then
		echo +pids >/sys/fs/cgroup/cgroup.subtree_control
		echo +pids >"$CG/cgroup.subtree_control"
		make_cgroup refused 64
		echo 3 >"$DIR/pids.max"
		refuse pids-max fork -C "$DIR" fork 8
		drop_cgroup "$DIR"
	fi
	end
}

stall_told()
{
	tracer_gone || grep -q "\"type\":\"stall\".*\"state\":\"$1\"" "$OUT/oomsnoop.ndjson"
}

# What is only reclaimed: page cache of a disk twice as large as memory.high, read over and over.
read_disk()
{
	echo 0 >"$1/cgroup.procs"
	while :; do
		cat /dev/zram0 >/dev/null
	done
}

# Nobody is killed: one that memory.high brings to a standstill, beside one that is merely reclaimed. Then the first is let go on.
s_stall()
{
	[ "$CGVER" = v2 ] || return 0
	begin stall 0
	mkdir "$CG/stall-reader"
	echo 24M >"$CG/stall-reader/memory.high"
	(read_disk "$CG/stall-reader") &
	reader=$!
	mkdir "$CG/stall"
	echo 16M >"$CG/stall/memory.high"
	eat_in "$CG/stall" -S anon 64
	if [ -x "$TRACER_BIN" ]; then
		until_true 600 stall_told stalled
		cat "$CG/stall/memory.pressure" "$CG/stall-reader/memory.pressure" "$CG/stall-reader/memory.events" >"$OUT/stall.files"
		note stall eater "$PID" reader-passed "$(sed -n 's/^high //p' "$CG/stall-reader/memory.events")"
		echo max >"$CG/stall/memory.high"
		until_true 600 stall_told ended
	fi
	kill_pid "$PID"
	kill_pid "$reader"
	drop_cgroup "$CG/stall"
	drop_cgroup "$CG/stall-reader"
	end
}
