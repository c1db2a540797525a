// SPDX-License-Identifier: Apache-2.0
/*
 * The chart drawn: families stacked, the domain's usage and limit as lines, the kill as a mark.
 *
 * Colours stand in presentation attributes, which any style sheet overrides: so the same drawing is
 * whole in a file of its own and follows the page's light or dark inside it.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "facts/host.h"
#include "sink/html.h"
#include "sink/html_words.h"
#include "sink/svg_axis.h"
#include "sink/svg_parts.h"

#define WIDTH 1080
#define HEIGHT 330
#define LEFT 74
#define RIGHT 16
#define TOP 20
#define BOTTOM 34
#define TIME_TICKS 12
#define HEADROOM 1.07 /* for the limit's label above its line */
#define LIMIT_IN_SIGHT 4 /* times the highest value: beyond it the line would flatten all else */
#define LABEL_HEIGHT 15 /* of an area, to be named in it */

struct plot {
	struct html_out *out;
	const struct svg_scene *scene;
	const struct chart *chart;
	double from, span; /* ns */
	double most; /* bytes at the upper edge */
	double top; /* of the drawing in the file */
	bool limit; /* in sight */
	double *lower, *upper; /* edges of the layer at hand, in bytes */
};

static double x_of(const struct plot *plot, int64_t time_ns)
{
	double part = ((double)time_ns - plot->from) / plot->span;

	return LEFT + fmin(fmax(part, 0), 1) * (WIDTH - LEFT - RIGHT);
}

static double y_of(const struct plot *plot, double bytes)
{
	double part = fmin(fmax(bytes / plot->most, 0), 1);

	return plot->top + TOP + (1 - part) * (HEIGHT - TOP - BOTTOM);
}

static int64_t layer_bytes(const struct chart_layer *layer, unsigned int i)
{
	return layer->bytes[i] > 0 ? layer->bytes[i] : 0;
}

static double highest(const struct chart *chart)
{
	double ret = 0;

	for (unsigned int i = 0; i < chart->instants; i++) {
		double sum = 0;

		for (unsigned int j = 0; j < chart->layer_count; j++)
			sum += (double)layer_bytes(&chart->layers[j], i);
		ret = fmax(ret, sum);
		if (chart->usage_bytes != NULL)
			ret = fmax(ret, (double)chart->usage_bytes[i]);
		if (chart->swap_bytes != NULL)
			ret = fmax(ret, (double)chart->swap_bytes[i]);
	}
	return ret;
}

static void scale(struct plot *plot)
{
	const struct chart *chart = plot->chart;
	double most = highest(chart);

	plot->from = (double)chart->from_ns;
	plot->span = (double)(chart->to_ns - chart->from_ns);
	plot->limit = chart->limit_bytes != UNKNOWN_U64 &&
		      (double)chart->limit_bytes <= most * LIMIT_IN_SIGHT;
	if (plot->limit)
		most = fmax(most, (double)chart->limit_bytes);
	plot->most = fmax(most, 4096) * HEADROOM;
}

/* --- the frame --- */

static void draw_bytes_axis(struct plot *plot)
{
	struct html_out *out = plot->out;
	uint64_t step = axis_bytes_step((uint64_t)plot->most);

	for (uint64_t bytes = 0; (double)bytes <= plot->most; bytes += step) {
		double y = y_of(plot, (double)bytes);

		html_printf(out,
			"<line class=\"grid\" x1=\"%d\" x2=\"%d\" y1=\"%.1f\" y2=\"%.1f\" "
			"stroke=\"#dde3ea\"/>"
			"<text class=\"tick\" x=\"%d\" y=\"%.1f\" text-anchor=\"end\" "
			"fill=\"#4f5b67\">",
			LEFT, WIDTH - RIGHT, y, y, LEFT - 8, y + 4);
		html_bytes(out, bytes);
		html_raw(out, "</text>");
	}
}

static void draw_tick(struct plot *plot, int64_t at_ns, int64_t step_ns)
{
	double x = x_of(plot, plot->chart->kill_ns + at_ns);
	int bottom = (int)plot->top + HEIGHT - BOTTOM;
	char label[32];
	struct buf buf;

	buf_init(&buf, label, sizeof(label));
	axis_time_label(&buf, at_ns, step_ns);
	html_printf(plot->out,
		"<line class=\"tickmark\" x1=\"%.1f\" x2=\"%.1f\" y1=\"%d\" y2=\"%d\" "
		"stroke=\"#8794a1\"/>"
		"<text class=\"tick\" x=\"%.1f\" y=\"%d\" text-anchor=\"%s\" fill=\"#4f5b67\">%s</text>",
		x, x, bottom, bottom + 5, x, bottom + 19, x > WIDTH - RIGHT - 12 ? "end" : "middle",
		label);
}

static void draw_time_axis(struct plot *plot)
{
	const struct chart *chart = plot->chart;
	int64_t before = chart->kill_ns - chart->from_ns, after = chart->to_ns - chart->kill_ns;
	int64_t step = axis_time_step(chart->to_ns - chart->from_ns, TIME_TICKS);

	for (int64_t at = 0; at <= before; at += step) {
		if (-at <= after)
			draw_tick(plot, -at, step);
	}
	for (int64_t at = step; at <= after; at += step) {
		if (-at <= before)
			draw_tick(plot, at, step);
	}
}

static void draw_span(
	struct plot *plot, const struct svg_span *span, const char *class, const char *fill)
{
	double from = x_of(plot, span->from_ns), to = x_of(plot, span->to_ns);

	html_printf(plot->out,
		"<rect class=\"%s\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%d\" fill=\"%s\"/>",
		class, from, plot->top + TOP, fmax(to - from, 1), HEIGHT - TOP - BOTTOM, fill);
}

/* Under the areas, and as a strip below them, since areas may cover all of it. */
static void draw_armed(struct plot *plot)
{
	const struct svg_scene *scene = plot->scene;

	for (unsigned int i = 0; i < scene->armed_count; i++) {
		double from = x_of(plot, scene->armed[i].from_ns);
		double to = x_of(plot, scene->armed[i].to_ns);

		draw_span(plot, &scene->armed[i], "armed", "#eef3f8");
		html_printf(plot->out,
			"<rect class=\"strip\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"3\" "
			"fill=\"#7f9bb8\"/>",
			from, plot->top + HEIGHT - BOTTOM + 1, fmax(to - from, 1));
	}
}

/* Above the areas: what they show there is only the last value before. */
static void draw_gaps(struct plot *plot)
{
	for (unsigned int i = 0; i < plot->scene->gap_count; i++)
		draw_span(plot, &plot->scene->gaps[i], "gap", "#e8e2d6");
}

/* --- series --- */

static const char *layer_color(const char *class)
{
	static const char *const others[CHART_LAYERS] = {"#4477aa", "#66ccee", "#228833", "#ccbb44",
		"#aa3377", "#44aa99", "#332288", "#999933", "#88ccee", "#882255", "#117733",
		"#ddcc77"};

	if (class[0] == 'v')
		return "#d55e00";
	if (class[0] == 'r')
		return "#b4bac1";
	return others[(unsigned int)atoi(class) % CHART_LAYERS];
}

static bool is_level(const struct plot *plot, const double *bytes, unsigned int i)
{
	return i > 0 && i + 1 < plot->chart->instants && bytes[i] == bytes[i - 1] &&
	       bytes[i] == bytes[i + 1];
}

/* A value that stands still needs its two ends only. */
static void draw_edge(struct plot *plot, const double *bytes, bool back)
{
	unsigned int count = plot->chart->instants;

	for (unsigned int n = 0; n < count; n++) {
		unsigned int i = back ? count - 1 - n : n;

		if (is_level(plot, bytes, i))
			continue;
		html_printf(plot->out, "%c%.1f,%.1f", n == 0 && !back ? 'M' : 'L',
			x_of(plot, plot->chart->times_ns[i]), y_of(plot, bytes[i]));
	}
}

static void draw_layer_label(struct plot *plot, const struct chart_layer *layer)
{
	unsigned int kill = svg_kill_index(plot->chart);
	double upper = y_of(plot, plot->upper[kill]), lower = y_of(plot, plot->lower[kill]);
	double x = x_of(plot, plot->chart->times_ns[kill]);

	if (lower - upper < LABEL_HEIGHT || x < LEFT + 180)
		return;
	html_printf(plot->out,
		"<text class=\"name\" x=\"%.1f\" y=\"%.1f\" text-anchor=\"end\" fill=\"#17202a\" "
		"stroke=\"#ffffff\" stroke-width=\"3\" paint-order=\"stroke\">",
		x - 8, (upper + lower) / 2 + 4);
	svg_layer_name(plot->out, layer);
	html_raw(plot->out, "</text>");
}

static void draw_layers(struct plot *plot)
{
	const struct chart *chart = plot->chart;
	char class[4];

	for (int labels = 0; labels < 2; labels++) {
		memset(plot->upper, 0, chart->instants * sizeof(*plot->upper));
		for (unsigned int j = 0; j < chart->layer_count; j++) {
			memcpy(plot->lower, plot->upper, chart->instants * sizeof(*plot->lower));
			for (unsigned int i = 0; i < chart->instants; i++)
				plot->upper[i] += (double)layer_bytes(&chart->layers[j], i);
			if (labels) {
				draw_layer_label(plot, &chart->layers[j]);
				continue;
			}
			svg_layer_class(chart, j, class);
			html_printf(plot->out,
				"<path class=\"f%s\" fill=\"%s\" stroke=\"#ffffff\" "
				"stroke-width=\"0.75\" d=\"",
				class, layer_color(class));
			draw_edge(plot, plot->upper, false);
			draw_edge(plot, plot->lower, true);
			html_raw(plot->out, "Z\"/>");
		}
	}
}

/* With holes where it is not known. */
static void draw_line(
	struct plot *plot, const int64_t *bytes, const char *class, const char *attributes)
{
	const struct chart *chart = plot->chart;
	bool pen = false;

	html_printf(plot->out, "<path class=\"%s\" fill=\"none\" %s d=\"", class, attributes);
	for (unsigned int i = 0; i < chart->instants; i++) {
		bool known = bytes[i] != CHART_UNKNOWN;
		bool level = known && pen && i + 1 < chart->instants && bytes[i] == bytes[i - 1] &&
			     bytes[i] == bytes[i + 1];

		if (known && !level)
			html_printf(plot->out, "%c%.1f,%.1f", pen ? 'L' : 'M',
				x_of(plot, chart->times_ns[i]), y_of(plot, (double)bytes[i]));
		pen = known;
	}
	html_raw(plot->out, "\"/>");
}

static void draw_limit(struct plot *plot)
{
	double y = y_of(plot, (double)plot->chart->limit_bytes);

	if (!plot->limit)
		return;
	html_printf(plot->out,
		"<line class=\"limit\" x1=\"%d\" x2=\"%d\" y1=\"%.1f\" y2=\"%.1f\" "
		"stroke=\"#b3261e\" stroke-width=\"1.5\" stroke-dasharray=\"7 4\"/>"
		"<text class=\"limitname\" x=\"%d\" y=\"%.1f\" fill=\"#b3261e\" stroke=\"#ffffff\" "
		"stroke-width=\"3\" paint-order=\"stroke\">limit ",
		LEFT, WIDTH - RIGHT, y, y, LEFT + 6, y - 5);
	html_bytes(plot->out, plot->chart->limit_bytes);
	html_raw(plot->out, "</text>");
}

static void draw_kill(struct plot *plot)
{
	double x = x_of(plot, plot->chart->kill_ns);
	bool right = x > WIDTH - RIGHT - 40;

	html_printf(plot->out,
		"<line class=\"kill\" x1=\"%.1f\" x2=\"%.1f\" y1=\"%.1f\" y2=\"%.1f\" "
		"stroke=\"#17202a\" stroke-width=\"2\"/>"
		"<text class=\"killname\" x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\" "
		"font-weight=\"600\" fill=\"#17202a\">kill</text>",
		x, x, plot->top + TOP - 6, plot->top + HEIGHT - BOTTOM, right ? x - 6 : x + 6,
		plot->top + TOP - 6, right ? "end" : "start");
}

static int draw(struct html_out *out, const struct svg_scene *scene, double top)
{
	const struct chart *chart = scene->chart;
	struct plot plot = {.out = out, .scene = scene, .chart = chart, .top = top};

	plot.lower = calloc(chart->instants, sizeof(*plot.lower));
	plot.upper = calloc(chart->instants, sizeof(*plot.upper));
	if (plot.lower != NULL && plot.upper != NULL) {
		scale(&plot);
		draw_armed(&plot);
		draw_bytes_axis(&plot);
		draw_layers(&plot);
		if (chart->swap_bytes != NULL)
			draw_line(&plot, chart->swap_bytes, "swap",
				"stroke=\"#6b4c9a\" stroke-width=\"1.5\" stroke-dasharray=\"3 3\"");
		if (chart->usage_bytes != NULL)
			draw_line(&plot, chart->usage_bytes, "usage",
				"stroke=\"#17202a\" stroke-width=\"2\"");
		draw_gaps(&plot);
		draw_limit(&plot);
		draw_kill(&plot);
		draw_time_axis(&plot);
	}
	free(plot.lower);
	free(plot.upper);
	return plot.lower != NULL && plot.upper != NULL ? 0 : -ENOMEM;
}

int svg_draw(struct html_out *out, const struct svg_scene *scene)
{
	int result;

	html_printf(out,
		"<svg class=\"chart\" viewBox=\"0 0 %d %d\" role=\"img\" font-size=\"12\" "
		"aria-label=\"",
		WIDTH, HEIGHT);
	svg_describe(out, scene->chart);
	html_raw(out, "\">");
	result = draw(out, scene, 0);
	html_raw(out, "</svg>");
	return result;
}

/* --- a file of its own --- */

#define FILE_TOP 56
#define LEGEND_COLUMNS 3
#define LEGEND_ROW 20

struct legend {
	struct html_out *out;
	unsigned int place;
};

static void legend_key(struct legend *legend, const char *shape)
{
	unsigned int column = legend->place % LEGEND_COLUMNS;
	unsigned int row = legend->place / LEGEND_COLUMNS;

	legend->place++;
	html_printf(legend->out, "<g transform=\"translate(%u %u)\">%s",
		LEFT + column * (WIDTH - LEFT) / LEGEND_COLUMNS,
		FILE_TOP + HEIGHT + row * LEGEND_ROW, shape);
	html_raw(legend->out, "<text x=\"22\" y=\"10\" fill=\"#17202a\">");
}

static void legend_end(struct legend *legend, int64_t bytes)
{
	if (bytes >= 0) {
		html_raw(legend->out, " <tspan fill=\"#4f5b67\">");
		html_bytes(legend->out, (uint64_t)bytes);
		html_raw(legend->out, "</tspan>");
	}
	html_raw(legend->out, "</text></g>");
}

static void draw_legend(struct html_out *out, const struct svg_scene *scene)
{
	const struct chart *chart = scene->chart;
	struct legend legend = {.out = out};
	unsigned int kill = svg_kill_index(chart);
	char class[4], shape[96];
	struct buf buf;

	if (chart->usage_bytes != NULL) {
		legend_key(&legend, "<rect y=\"5\" width=\"16\" height=\"2\" fill=\"#17202a\"/>");
		html_raw(out, "in use");
		legend_end(&legend, chart->usage_bytes[kill]);
	}
	if (chart->swap_bytes != NULL) {
		legend_key(&legend, "<rect y=\"5\" width=\"16\" height=\"2\" fill=\"#6b4c9a\"/>");
		html_raw(out, "swap of all its processes");
		legend_end(&legend, chart->swap_bytes[kill]);
	}
	for (unsigned int i = 0; i < chart->layer_count; i++) {
		svg_layer_class(chart, i, class);
		buf_init(&buf, shape, sizeof(shape));
		buf_printf(
			&buf, "<rect width=\"16\" height=\"12\" fill=\"%s\"/>", layer_color(class));
		legend_key(&legend, shape);
		svg_layer_name(out, &chart->layers[i]);
		legend_end(&legend, layer_bytes(&chart->layers[i], kill));
	}
	if (scene->armed_count > 0) {
		legend_key(&legend, "<rect width=\"16\" height=\"12\" fill=\"#eef3f8\" "
				    "stroke=\"#8794a1\"/>");
		html_raw(out, "page faults were counted");
		legend_end(&legend, -1);
	}
	if (scene->gap_count > 0) {
		legend_key(&legend, "<rect width=\"16\" height=\"12\" fill=\"#e8e2d6\"/>");
		html_raw(out, "nothing was recorded");
		legend_end(&legend, -1);
	}
}

static unsigned int legend_height(const struct svg_scene *scene)
{
	const struct chart *chart = scene->chart;
	unsigned int keys = chart->layer_count + (chart->usage_bytes != NULL) +
			    (chart->swap_bytes != NULL) + (scene->armed_count > 0) +
			    (scene->gap_count > 0);

	return (keys + LEGEND_COLUMNS - 1) / LEGEND_COLUMNS * LEGEND_ROW + 12;
}

static int draw_file(
	struct html_out *out, const struct svg_scene *scene, const struct html_words *words)
{
	unsigned int height = FILE_TOP + HEIGHT + legend_height(scene);
	int result;

	html_printf(out,
		"<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%u\" "
		"viewBox=\"0 0 %d %u\" font-family=\"system-ui, sans-serif\" font-size=\"12\" "
		"role=\"img\">\n<title>",
		WIDTH, height, WIDTH, height);
	html_words_headline(out, words);
	html_raw(out, "</title>\n<desc>");
	svg_describe(out, scene->chart);
	html_printf(out, "</desc>\n<rect width=\"%d\" height=\"%u\" fill=\"#ffffff\"/>\n", WIDTH,
		height);
	html_raw(out,
		"<text x=\"16\" y=\"26\" font-size=\"16\" font-weight=\"600\" fill=\"#17202a\">");
	html_words_headline(out, words);
	html_raw(out, "</text>\n<text x=\"16\" y=\"46\" fill=\"#4f5b67\">");
	html_words_put(out, words, "host", 0);
	html_raw(out, "</text>\n");
	result = draw(out, scene, FILE_TOP);
	html_raw(out, "\n");
	draw_legend(out, scene);
	html_raw(out, "\n</svg>\n");
	return result;
}

int svg_file(const struct sink_context *context, const struct incident *incident,
	const struct judgement *judgement, const struct chart *chart, html_writer *write, void *arg)
{
	struct svg_scene *scene = malloc(sizeof(*scene));
	struct html_out *out = malloc(sizeof(*out));
	struct html_words *words = malloc(sizeof(*words));
	int result = -ENOMEM, written;

	if (scene != NULL && out != NULL && words != NULL) {
		result = -ENODATA;
		if (svg_scene_of(scene, context, incident, chart, NULL, 0)) {
			html_out_init(out, write, arg);
			html_words_of(words, context, incident, judgement);
			result = draw_file(out, scene, words);
			written = html_finish(out);
			result = written != 0 ? written : result;
		}
	}
	free(scene);
	free(out);
	free(words);
	return result;
}
