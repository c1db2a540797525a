# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=dash
#
# The OOM scenarios, for a guest's init (busybox sh) and for run-native (bash). Sourced, never run.
# The caller sets:
#   BIN      directory of the workloads
#   OUT      directory for scenarios.tsv and the workloads' own accounts
#   CG       a cgroup directory of our own, memory controller on;  CGVER  v1 or v2
#   RAMFS, TMPFS   directories on a ramfs and on a tmpfs
#   TRACER_WITHOUT hooks to leave out
#   TRACER_BIN     oomsnoop; where it is no program, the scenarios run bare
#   REUSE_PID      a free pid
# Every scenario is bracketed by marks in the kernel log, so that the tests can tell whose report is
# whose.

FIFO=$OUT/fifo
TAB=$(printf '\t')
TRACER=
rate_start=0
rate_count=0
last_end=0

now_cs()
{
	read -r up _ </proc/uptime
	echo "${up%.*}${up#*.}"
}

# until_true TENTHS COMMAND...: poll for a condition, never a blind sleep; false when it did not
# come true in time.
until_true()
{
	left=$1
	shift
	while ! "$@" >/dev/null 2>&1; do
		left=$((left - 1))
		[ "$left" -gt 0 ] || return 1
		sleep 0.1
	done
}

note()
{
	printf '%s\n' "$*" | tr ' ' "$TAB" >>"$OUT/scenarios.tsv"
}

tracer_gone()
{
	! kill -0 "$TRACER"
}

tracer_ready()
{
	grep -q READY "$OUT/ready" || tracer_gone
}

start_tracer()
{
	[ -x "$TRACER_BIN" ] || return 0
	note tracer start "$(now_cs)"
	"$TRACER_BIN" --json --without "${TRACER_WITHOUT:-}" --ready-fd 9 9>"$OUT/ready" \
		>"$OUT/oomsnoop.ndjson" 2>"$OUT/oomsnoop.stderr" &
	TRACER=$!
	until_true 600 tracer_ready || note tracer not-ready
	note tracer ready "$(now_cs)"
	cat "/proc/$TRACER/status" >"$OUT/oomsnoop.status.start" || true
}

stop_tracer()
{
	[ -n "$TRACER" ] || return 0
	cat "/proc/$TRACER/status" >"$OUT/oomsnoop.status" || true
	cat "/proc/$TRACER/stat" >"$OUT/oomsnoop.stat" || true
	note tracer stop "$(now_cs)"
	kill -TERM "$TRACER" || true
	# Records that are not closed yet may take a while; a tracer that never ends is a failure of
	# its own.
	until_true 150 tracer_gone || kill -9 "$TRACER"
	status=0
	wait "$TRACER" || status=$?
	note tracer exit $status
	note tracer stopped "$(now_cs)"
	TRACER=
}

run_doctor()
{
	[ -x "$TRACER_BIN" ] || return 0
	status=0
	"$TRACER_BIN" doctor >"$OUT/doctor.txt" 2>&1 || status=$?
	note doctor exit $status
	status=0
	"$TRACER_BIN" doctor --json >"$OUT/doctor.json" 2>"$OUT/doctor.stderr" || status=$?
	note doctor-json exit $status
}

# The kernel prints 10 full reports per 5 s and drops the rest (no sysctl governs that), so a
# scenario says how many it is going to cause and waits for room. The kernel's window began before
# our first scenario in it ended, so 5 s after that end it is over for certain.
pace()
{
	now=$(now_cs)
	if [ "$1" -ge 8 ]; then
		# The whole allowance is needed: no window may be open at all.
		rate_start=$last_end
		rate_count=8
	fi
	if [ $((now - rate_start)) -gt 510 ]; then
		rate_count=0
	elif [ $((rate_count + $1)) -gt 8 ]; then
		while [ $(($(now_cs) - rate_start)) -le 510 ]; do
			sleep 0.1
		done
		rate_count=0
	fi
}

# begin NAME REPORTS
begin()
{
	NAME=$1
	REPORTS=$2
	pace "$REPORTS"
	printf '<5>oomsnoop-test: begin %s\n' "$NAME" >/dev/kmsg
	note "$NAME begin $(now_cs)"
}

end()
{
	now=$(now_cs)
	last_end=$now
	[ "$rate_count" -gt 0 ] || rate_start=$now
	# One that fills the window counts from its own end.
	[ "$REPORTS" -lt 8 ] || rate_start=$now
	rate_count=$((rate_count + REPORTS))
	printf '<5>oomsnoop-test: end %s\n' "$NAME" >/dev/kmsg
	note "$NAME end $now"
}

limit_file()
{
	if [ "$CGVER" = v1 ]; then
		echo memory.limit_in_bytes
	else
		echo memory.max
	fi
}

# set_limit DIR MIB
set_limit()
{
	echo $(($2 << 20)) >"$1/$(limit_file)"
}

# make_cgroup NAME MIB: the directory is in $DIR after this.
make_cgroup()
{
	DIR=$CG/$1
	mkdir "$DIR"
	set_limit "$DIR" "$2"
}

# note_events DIR: what the kernel counted there, as a person would read it after the kill, once all that die are
# dead: a line "NAME DIR FILE KEY COUNT" each, DIR below ours.
note_events()
{
	until_true 100 cgroup_empty "$1"
	for file in memory.events memory.events.local memory.oom_control; do
		[ -e "$1/$file" ] || continue
		while read -r key count; do
			printf '%s\t%s\t%s\t%s\t%s\n' "$NAME" "${1#"$CG"}" "$file" "$key" "$count"
		done <"$1/$file" >>"$OUT/events.tsv"
	done
}

cgroup_empty()
{
	[ -z "$(cat "$1/cgroup.procs")" ]
}

drop_cgroup()
{
	until_true 100 rmdir "$1" || note "$NAME leftover $1"
}

# eat_in DIR ARGUMENTS...: start an eater in the background; its pid is in $PID.
eat_in()
{
	dir=$1
	shift
	"$BIN/eat" -C "$dir" "$@" >>"$OUT/work.$NAME" 2>&1 &
	PID=$!
}

# reap PID...: wait for children and note how they ended.
reap()
{
	for child in "$@"; do
		status=0
		wait "$child" || status=$?
		note "$NAME exit $child $status"
	done
}

# run_in DIR PROGRAM ARGUMENTS...: another workload, to its end.
run_in()
{
	dir=$1
	program=$2
	shift 2
	"$BIN/$program" -C "$dir" "$@" >>"$OUT/work.$NAME" 2>&1 &
	reap $!
}

said()
{
	grep -q "$1" "$OUT/work.$NAME"
}

asleep()
{
	grep -q '^State:.S' "/proc/$1/status"
}

# A sleeper is where we want it when it has said so and is off the CPU: only then is a reading of it
# exact.
wait_full()
{
	until_true 300 said "^pid=$1 event=done" && until_true 300 asleep "$1"
}

kill_pid()
{
	kill -9 "$1" 2>/dev/null || true
	reap "$1"
}

# plain NAME EATER_ARGUMENTS...: one eater of 64 MiB in a cgroup of 32.
plain()
{
	name=$1
	shift
	begin "$name" 1
	make_cgroup "$name" 32
	eat_in "$DIR" "$@"
	reap "$PID"
	note_events "$DIR"
	drop_cgroup "$DIR"
	end
}

s_simple() { plain simple anon 64; }
s_small_pages() { plain small-pages -S -u 1000 anon 64; }
s_thread() { plain thread -S thread 64; }

s_file()
{
	plain file -f "$RAMFS/eaten" file 64
	rm -f "$RAMFS/eaten"
}

s_tmpfs()
{
	begin tmpfs 2
	make_cgroup tmpfs 24
	eat_in "$DIR" -f "$TMPFS/eaten" write 48
	reap "$PID"
	rm -f "$TMPFS/eaten"
	drop_cgroup "$DIR"
	end
}

# Kernel memory (inodes and names), which is in no process's resident set.
s_directories()
{
	begin directories 2
	make_cgroup directories 4
	eat_in "$DIR" -f "$TMPFS/many" directories 64
	reap "$PID"
	rm -rf "$TMPFS/many"
	drop_cgroup "$DIR"
	end
}

s_trigger()
{
	begin trigger 1
	# The victim's last 40 MiB of small pages are handed back in one go, late in its exit; a
	# smaller victim would still be charged when the small one asks again, and that would be
	# killed as well (it still happens on some kernels).
	make_cgroup trigger 72
	run_in "$DIR" trigger -S 62 14
	drop_cgroup "$DIR"
	end
}

s_workers()
{
	begin workers 4
	make_cgroup workers 32
	run_in "$DIR" forkeat -S -a 100 6 6 0
	drop_cgroup "$DIR"
	end
}

s_group()
{
	[ "$CGVER" = v2 ] || return 0
	begin group 1
	make_cgroup group 32
	echo 1 >"$DIR/memory.oom.group"
	run_in "$DIR" forkeat 0 10 8
	note_events "$DIR"
	drop_cgroup "$DIR"
	end
}

s_ancestor()
{
	begin ancestor 1
	make_cgroup ancestor 32
	parent=$DIR
	[ "$CGVER" = v1 ] || echo +memory >"$parent/cgroup.subtree_control"
	mkdir "$parent/leaf"
	eat_in "$parent/leaf" anon 64
	reap "$PID"
	note_events "$parent/leaf"
	note_events "$parent"
	drop_cgroup "$parent/leaf"
	drop_cgroup "$parent"
	end
}

s_sharemm()
{
	begin sharemm 1
	make_cgroup sharemm 32
	run_in "$DIR" sharemm 64
	# The sharer is no child of this shell: it is gone when the cgroup is empty.
	until_true 100 cgroup_empty "$DIR"
	drop_cgroup "$DIR"
	end
}

# A small process dies in the place of a bigger one for its oom_score_adj.
s_adj_plus()
{
	begin adj-plus 1
	make_cgroup adj-plus 32
	eat_in "$DIR" -S -j 800 -c adj-small anon 8
	small=$PID
	wait_full "$small"
	eat_in "$DIR" -S -x -c adj-big anon 26
	reap "$PID" "$small"
	drop_cgroup "$DIR"
	end
}

# Without CAP_SYS_RESOURCE nobody gets below zero.
can_lower_adj()
{
	sh -c 'echo -1 >/proc/self/oom_score_adj' 2>/dev/null && return 0
	note "$1" skipped oom_score_adj-cannot-be-lowered-here
	return 1
}

# A big one lives on for its negative oom_score_adj.
s_adj_minus()
{
	can_lower_adj adj-minus || return 0
	begin adj-minus 1
	make_cgroup adj-minus 32
	eat_in "$DIR" -S -j -800 -c adj-big anon 22
	big=$PID
	wait_full "$big"
	eat_in "$DIR" -S -c adj-small anon 14
	reap "$PID"
	kill_pid "$big"
	drop_cgroup "$DIR"
	end
}

failed_charges()
{
	if [ "$CGVER" = v1 ]; then
		[ "$(cat "$DIR/memory.failcnt")" -gt 0 ]
	else
		grep -q '^oom [1-9]' "$DIR/memory.events"
	fi
}

# Nothing to kill: the kernel reports again and again, without a rate limit, until the eater is
# gone. Bounded by us.
s_no_killable()
{
	can_lower_adj no-killable || return 0
	begin no-killable 0
	make_cgroup no-killable 16
	eat_in "$DIR" -j -1000 anon 32
	until_true 100 failed_charges
	sleep 0.2
	kill_pid "$PID"
	drop_cgroup "$DIR"
	end
}

# hostile_cgroup NAME: the bytes of a directory name. The kernel refuses a newline in it, and only
# that.
hostile_cgroup()
{
	printf 'hostile \033[31m "q" \\ \t\377\303(,x\302\233'
}

s_hostile()
{
	begin hostile 2
	newline=$(printf 'a\nb')
	if mkdir "$CG/$newline" 2>/dev/null; then
		note "$NAME newline-in-cgroup allowed"
		rmdir "$CG/$newline"
	fi
	make_cgroup "$(hostile_cgroup)" 16
	eat_in "$DIR" -c 'a\x0ab\x1b[31m"\xff\\,)x' anon 32 "$(printf 'new\nline')" \
		"$(printf '\033]0;x\007')" "$(printf 'bad\377utf')" '"quote"' ''
	reap "$PID"
	# A name that looks like a part of the kernel's own line.
	eat_in "$DIR" -c ',pid=1,uid=7' anon 32
	reap "$PID"
	drop_cgroup "$DIR"
	end
}

# The directory is gone as soon as the process is: nothing can be looked up afterwards.
s_gone_cgroup()
{
	begin gone-cgroup 1
	make_cgroup gone-cgroup 16
	eat_in "$DIR" anon 32
	wait "$PID" || true
	while ! rmdir "$DIR" 2>/dev/null; do :; done
	note "$NAME exit $PID 137"
	end
}

s_pid_reuse()
{
	begin pid-reuse 2
	make_cgroup pid-reuse 16
	for name in first-life second-life; do
		eat_in "$DIR" -P "$REUSE_PID" -c "$name" anon 32
		reap "$PID"
	done
	drop_cgroup "$DIR"
	end
}

s_limit_lowered()
{
	[ "$CGVER" = v2 ] || return 0
	begin limit-lowered 1
	make_cgroup limit-lowered 48
	eat_in "$DIR" -S anon 32
	wait_full "$PID"
	set_limit "$DIR" 16
	reap "$PID"
	drop_cgroup "$DIR"
	end
}

# Slowed down over the last 2 MiB: what reclaim cannot take back is charged all the same.
s_throttled()
{
	[ "$CGVER" = v2 ] || return 0
	begin throttled 1
	make_cgroup throttled 32
	echo 30M >"$DIR/memory.high"
	eat_in "$DIR" -S anon 64
	reap "$PID"
	note_events "$DIR"
	drop_cgroup "$DIR"
	end
}

# eaters_at_once NAME COUNT: one eater in each of COUNT cgroups, all let go at the same moment.
eaters_at_once()
{
	begin "$1" "$2"
	mkfifo "$FIFO"
	pids=
	i=0
	while [ $i -lt "$2" ]; do
		make_cgroup "$NAME-$i" 16
		eat_in "$DIR" -w "$FIFO" anon 32
		pids="$pids $PID"
		i=$((i + 1))
	done
	for child in $pids; do
		until_true 100 said "^pid=$child event=ready" && until_true 100 asleep "$child"
	done
	: >"$FIFO"
	# shellcheck disable=SC2086 # a list of numbers
	reap $pids
	rm -f "$FIFO"
	while [ $i -gt 0 ]; do
		i=$((i - 1))
		drop_cgroup "$CG/$NAME-$i"
	done
	end
}

s_two_at_once() { eaters_at_once two-at-once 2; }
s_ten_at_once() { eaters_at_once ten-at-once 10; }

# No pacing inside: where kills come fast enough the kernel drops reports, and the tracer must not.
s_twenty_in_a_row()
{
	begin twenty-in-a-row 0
	make_cgroup twenty-in-a-row 8
	i=0
	while [ $i -lt 20 ]; do
		eat_in "$DIR" -c "row-$i" anon 16
		reap "$PID"
		i=$((i + 1))
	done
	drop_cgroup "$DIR"
	end
}

# Needs a swap device, which only a guest makes (the caller has switched it on). Most of the victim is in it.
s_swap()
{
	[ "$CGVER" = v2 ] || return 0
	begin swap 2
	make_cgroup swap 16
	echo $((24 << 20)) >"$DIR/memory.swap.max"
	eat_in "$DIR" -S anon 64
	reap "$PID"
	drop_cgroup "$DIR"
	end
}

# The rest takes the whole machine: in guests only.
s_global()
{
	begin global 1
	"$BIN/eat" -c global-eater anon 2000 >>"$OUT/work.$NAME" 2>&1 &
	reap $!
	end
}

s_allocating_task()
{
	begin allocating-task 1
	echo 1 >/proc/sys/vm/oom_kill_allocating_task
	"$BIN/eat" -c allocating anon 2000 >>"$OUT/work.$NAME" 2>&1 &
	reap $!
	echo 0 >/proc/sys/vm/oom_kill_allocating_task
	end
}

s_sysrq()
{
	begin sysrq 1
	"$BIN/eat" -S -c sysrq-sleeper anon 24 >>"$OUT/work.$NAME" 2>&1 &
	PID=$!
	wait_full "$PID"
	echo f >/proc/sysrq-trigger
	reap "$PID"
	end
}

# More than half of RAM is set aside for huge pages, and the rest is soon full.
s_hugetlb()
{
	begin hugetlb 1
	echo 125 >/proc/sys/vm/nr_hugepages
	note "$NAME pages $(cat /proc/sys/vm/nr_hugepages)"
	"$BIN/eat" -c beside-huge anon 2000 >>"$OUT/work.$NAME" 2>&1 &
	reap $!
	echo 0 >/proc/sys/vm/nr_hugepages
	end
}

# CPUSET_DIR is a cgroup with cpuset.mems on node 1 alone.
s_cpuset()
{
	begin cpuset 1
	eat_in "$CPUSET_DIR" -c cpuset-eater anon 2000
	reap "$PID"
	end
}

s_mempolicy()
{
	begin mempolicy 1
	"$BIN/eat" -n 1 -c bound-eater anon 2000 >>"$OUT/work.$NAME" 2>&1 &
	reap $!
	end
}

# `oomsnoop run` beside the tracer: a command that the OOM killer takes, and one that exits with 137 by
# itself, for which it must have been watched from its start on.
s_run()
{
	[ -x "$TRACER_BIN" ] || return 0
	begin run 1
	"$TRACER_BIN" run --json --memory-max 32M -- "$BIN/eat" anon 64 2>"$OUT/run.oom" >"$OUT/work.$NAME" &
	reap $!
	"$TRACER_BIN" run --json --attach-first sh -c 'exit 137' 2>"$OUT/run.alone" &
	reap $!
	end
}

# What any machine with a memory cgroup can make.
run_cgroup_scenarios()
{
	s_simple
	s_small_pages
	s_thread
	s_file
	s_tmpfs
	s_directories
	s_trigger
	s_workers
	s_group
	s_ancestor
	s_sharemm
	s_adj_plus
	s_adj_minus
	s_hostile
	s_gone_cgroup
	s_pid_reuse
	s_limit_lowered
	s_throttled
	s_two_at_once
	s_no_killable
	s_kills
}

# Last, since they use up the kernel's allowance of full reports and more.
run_burst_scenarios()
{
	s_ten_at_once
	s_twenty_in_a_row
}
