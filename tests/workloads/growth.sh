# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=dash
#
# Growth up to a kill, by workloads that say by how much: the record must name who grew first. For a
# guest's init; here, growth_test.py does the same and more. Sourced after scenarios.sh, whose
# variables and functions it uses.

# push: one that goes over the limit of $DIR and dies for it, whoever is bigger.
push()
{
	eat_in "$DIR" -S -j 1000 -c pusher anon 64
	reap "$PID"
}

# grow_and_push NAME LIMIT_MIB PROGRAM ARGUMENTS...: a workload grows and stays, and is pushed over. It
# begins when the recorder has seen it in its cgroup: what a process does between the pass before it
# came there and the one after is known by its resident set alone.
grow_and_push()
{
	begin "$1" 1
	make_cgroup "$1" "$2"
	program=$3
	shift 3
	mkfifo "$FIFO"
	"$BIN/$program" -C "$DIR" -w "$FIFO" "$@" >>"$OUT/work.$NAME" 2>&1 &
	grower=$!
	until_true 100 said "^pid=$grower event=ready"
	sleep 2.2
	: >"$FIFO"
	until_true 300 said "^pid=$grower event=done" || note "$NAME grower-not-done $grower"
	rm -f "$FIFO"
	push
	kill_pid "$grower"
	drop_cgroup "$DIR"
	end
}

# grow_over NAME LIMIT_MIB ARGUMENTS...: one that grows until it is killed.
grow_over()
{
	begin "$1" 1
	make_cgroup "$1" "$2"
	shift 2
	run_in "$DIR" grow "$@"
	drop_cgroup "$DIR"
	end
}

# Twelve seconds: a line needs ten points, which are a second apart in a window of a minute.
s_growth_leak() { grow_over growth-leak 40 -S -i 300 anon 80; }
s_growth_spike() { grow_over growth-spike 32 -S anon 64; }
s_growth_cow() { grow_and_push growth-cow 36 cow -S -i 150 8 3; }
s_growth_children() { grow_and_push growth-children 24 herd -S -b 2048 brief 60; }

s_growth_tmpfs()
{
	grow_and_push growth-tmpfs 32 grow -f "$TMPFS/grown" -i 100 write 24
	rm -f "$TMPFS/grown"
}

# On a ramfs: page cache that cannot be written out.
s_growth_cache()
{
	grow_and_push growth-cache 32 grow -f "$RAMFS/grown" -i 100 write 24
	rm -f "$RAMFS/grown"
}

# Needs a swap device, which the caller has switched on.
s_growth_swap()
{
	[ "$CGVER" = v2 ] || return 0
	begin growth-swap 1
	make_cgroup growth-swap 24
	echo $((16 << 20)) >"$DIR/memory.swap.max"
	run_in "$DIR" grow -S -i 60 anon 64
	drop_cgroup "$DIR"
	end
}

run_growth_scenarios()
{
	s_growth_leak
	s_growth_spike
	s_growth_cow
	s_growth_tmpfs
	s_growth_cache
	s_growth_children
}
