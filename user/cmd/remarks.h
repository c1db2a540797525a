/* SPDX-License-Identifier: Apache-2.0 */
/* remarks.h: what the live trace goes without for want of rights: a line each on stderr. */
#ifndef OOMSNOOP_CMD_REMARKS_H
#define OOMSNOOP_CMD_REMARKS_H

#include <stdbool.h>

#include "facts/rights.h"

struct remarks_of {
	const struct rights *rights; /* before any were given up; NULL: not readable */
	const struct rights_protection *protection;
	int kmsg_error; /* 0, or -errno of opening /dev/kmsg */
	bool host_pids; /* it runs in the host's pid namespace */
};

void remarks_tell(const struct remarks_of *of);

#endif /* OOMSNOOP_CMD_REMARKS_H */
