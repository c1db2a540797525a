// SPDX-License-Identifier: Apache-2.0
#include "cmd/show.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define WIDTH_MIN 40
#define WIDTH_MAX 1000

enum { OPTION_COLOR = 0x300, OPTION_WIDTH };

static const struct argp_option option_table[] = {
	{NULL, 0, NULL, 0, "How it is told:", 2},
	{"json", 'j', NULL, 0, "One JSON object a line (NDJSON) in place of the text", 2},
	{"color", OPTION_COLOR, "WHEN", 0,
		"auto (default: on a terminal, without NO_COLOR), always or never", 2},
	{"width", OPTION_WIDTH, "COLUMNS", 0, "Of a line (default: the terminal's)", 2},
	{"quiet", 'q', NULL, 0, "No header and no remarks, only errors", 2},
	{NULL, 0, NULL, 0, NULL, 0},
};

static enum color_mode parse_color(struct argp_state *state, const char *text)
{
	if (!strcmp(text, "always"))
		return COLOR_ALWAYS;
	if (!strcmp(text, "never"))
		return COLOR_NEVER;
	if (strcmp(text, "auto") != 0)
		argp_error(state, "--color: '%s' is none of auto, always, never", text);
	return COLOR_AUTO;
}

static int parse_width(struct argp_state *state, const char *text)
{
	long value;
	char *end;

	errno = 0;
	value = strtol(text, &end, 10);
	if (errno || text[0] < '0' || text[0] > '9' || *end || value < WIDTH_MIN ||
		value > WIDTH_MAX)
		argp_error(state, "--width: '%s' is not a number from %d to %d", text, WIDTH_MIN,
			WIDTH_MAX);
	return (int)value;
}

static error_t parse_option(int key, char *value, struct argp_state *state)
{
	struct show *show = state->input;

	switch (key) {
	case 'j':
		show->json = true;
		return 0;
	case 'q':
		show->quiet = true;
		return 0;
	case OPTION_COLOR:
		show->color = parse_color(state, value);
		return 0;
	case OPTION_WIDTH:
		show->width = parse_width(state, value);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

const struct argp show_argp = {.options = option_table, .parser = parse_option};
