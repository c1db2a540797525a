// SPDX-License-Identifier: Apache-2.0
/* What AFL++ starts: one target, the input from stdin, many inputs for a process. By other
 * compilers' builds one input is tried, so a crash can be looked at without AFL++. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

#define INPUT_MAX (1U << 20)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#ifdef __AFL_FUZZ_TESTCASE_LEN
__AFL_FUZZ_INIT();

int main(void)
{
	const uint8_t *data;

	__AFL_INIT();
	data = __AFL_FUZZ_TESTCASE_BUF;
	while (__AFL_LOOP(2000))
		LLVMFuzzerTestOneInput(data, (size_t)__AFL_FUZZ_TESTCASE_LEN);
	return 0;
}
#else
int main(void)
{
	uint8_t *data = malloc(INPUT_MAX);
	size_t len = 0;
	ssize_t got;

	if (!data)
		return 1;
	while (len < INPUT_MAX && (got = read(STDIN_FILENO, data + len, INPUT_MAX - len)) > 0)
		len += (size_t)got;
	LLVMFuzzerTestOneInput(data, len);
	free(data);
	return 0;
}
#endif
