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

run_held_scenarios()
{
	s_immune
	s_pipes
}
