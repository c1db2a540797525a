// SPDX-License-Identifier: Apache-2.0
#include "source/btf_scan.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/btf.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define TRACEPOINT_PREFIX "btf_trace_"
#define MAX_BYTES (256UL << 20)

struct btf_view {
	const char *types;
	uint32_t types_len;
	const char *strings;
	uint32_t strings_len;
	uint32_t *offsets; /* of each type id; 0 is void */
	uint32_t count;
};

static const struct btf_type *type_at(const struct btf_view *view, uint32_t id)
{
	if (!id || id >= view->count)
		return NULL;
	return (const struct btf_type *)(view->types + view->offsets[id]);
}

static const char *name_of(const struct btf_view *view, const struct btf_type *type)
{
	return type->name_off < view->strings_len ? view->strings + type->name_off : "";
}

/* Bytes that follow a type's fixed part; SIZE_MAX: a kind that is not known, so the rest cannot be
 * read. */
static size_t tail_size(const struct btf_type *type)
{
	size_t vlen = BTF_INFO_VLEN(type->info);

	switch (BTF_INFO_KIND(type->info)) {
	case BTF_KIND_INT:
	case BTF_KIND_VAR:
	case BTF_KIND_DECL_TAG:
		return sizeof(uint32_t);
	case BTF_KIND_ARRAY:
		return sizeof(struct btf_array);
	case BTF_KIND_STRUCT:
	case BTF_KIND_UNION:
		return vlen * sizeof(struct btf_member);
	case BTF_KIND_ENUM:
		return vlen * sizeof(struct btf_enum);
	case BTF_KIND_ENUM64:
		return vlen * 3 * sizeof(uint32_t);
	case BTF_KIND_FUNC_PROTO:
		return vlen * sizeof(struct btf_param);
	case BTF_KIND_DATASEC:
		return vlen * sizeof(struct btf_var_secinfo);
	case BTF_KIND_PTR:
	case BTF_KIND_FWD:
	case BTF_KIND_TYPEDEF:
	case BTF_KIND_VOLATILE:
	case BTF_KIND_CONST:
	case BTF_KIND_RESTRICT:
	case BTF_KIND_FUNC:
	case BTF_KIND_FLOAT:
	case BTF_KIND_TYPE_TAG:
		return 0;
	default:
		return SIZE_MAX;
	}
}

static int view_open(struct btf_view *view, const void *data, size_t size)
{
	const struct btf_header *header = data;
	size_t room;

	if (size < sizeof(*header) || header->magic != BTF_MAGIC ||
		header->hdr_len < sizeof(*header) || header->hdr_len > size)
		return -EBADMSG;
	room = size - header->hdr_len;
	if (header->type_off > room || header->type_len > room - header->type_off ||
		header->str_off > room || header->str_len > room - header->str_off ||
		!header->str_len || header->type_off % sizeof(uint32_t))
		return -EBADMSG;
	view->types = (const char *)data + header->hdr_len + header->type_off;
	view->types_len = header->type_len;
	view->strings = (const char *)data + header->hdr_len + header->str_off;
	view->strings_len = header->str_len;
	/* Every name is then terminated, whatever its offset. */
	if (view->strings[view->strings_len - 1] != '\0')
		return -EBADMSG;
	view->offsets = malloc((header->type_len / sizeof(struct btf_type) + 2) * sizeof(uint32_t));
	return view->offsets ? 0 : -ENOMEM;
}

/* Which first characters are wanted at all: most names are passed over by one look. */
static void want_initials(const struct btf_want *wants, size_t count, bool initials[256])
{
	memset(initials, 0, 256);
	for (size_t i = 0; i < count; i++)
		if (wants[i].kind == BTF_WANT_FUNCTION)
			initials[(unsigned char)wants[i].name[0]] = true;
}

static void match_function(const char *name, uint32_t id, struct btf_want *wants, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (wants[i].kind == BTF_WANT_FUNCTION && !wants[i].id &&
			!strcmp(wants[i].name, name))
			wants[i].id = id;
}

static void match_tracepoint(const char *name, uint32_t id, struct btf_want *wants, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (wants[i].kind == BTF_WANT_TRACEPOINT && !wants[i].id &&
			!strcmp(wants[i].name, name))
			wants[i].id = id;
}

static int types_walk(struct btf_view *view, struct btf_want *wants, size_t count)
{
	const size_t prefix = sizeof(TRACEPOINT_PREFIX) - 1;
	bool initials[256];
	uint32_t at = 0, id = 1;

	want_initials(wants, count, initials);
	for (; at + sizeof(struct btf_type) <= view->types_len; id++) {
		const struct btf_type *type = (const struct btf_type *)(view->types + at);
		uint32_t kind = BTF_INFO_KIND(type->info);
		size_t tail = tail_size(type);

		if (tail > view->types_len - at - sizeof(*type))
			return -EBADMSG;
		view->offsets[id] = at;
		if (kind == BTF_KIND_FUNC) {
			const char *name = name_of(view, type);

			if (initials[(unsigned char)name[0]])
				match_function(name, id, wants, count);
		} else if (kind == BTF_KIND_TYPEDEF) {
			const char *name = name_of(view, type);

			if (!strncmp(name, TRACEPOINT_PREFIX, prefix))
				match_tracepoint(name + prefix, id, wants, count);
		}
		at += sizeof(*type) + tail;
	}
	view->count = id;
	return at == view->types_len ? 0 : -EBADMSG;
}

/* The first argument after the context pointer, in the prototype that a tracepoint's typedef points
 * to. */
static enum btf_argument first_argument(const struct btf_view *view, uint32_t typedef_id)
{
	const struct btf_type *type = type_at(view, typedef_id);
	const struct btf_param *params;

	type = type ? type_at(view, type->type) : NULL;
	if (!type || BTF_INFO_KIND(type->info) != BTF_KIND_PTR)
		return BTF_ARGUMENT_OTHER;
	type = type_at(view, type->type);
	if (!type || BTF_INFO_KIND(type->info) != BTF_KIND_FUNC_PROTO ||
		BTF_INFO_VLEN(type->info) < 2)
		return BTF_ARGUMENT_OTHER;
	params = (const struct btf_param *)(type + 1);
	type = type_at(view, params[1].type);
	/* A bound, since damaged types may run in a circle. */
	for (int i = 0; type && i < 8; i++) {
		uint32_t kind = BTF_INFO_KIND(type->info);

		if (kind == BTF_KIND_INT)
			return BTF_ARGUMENT_INT;
		if (kind == BTF_KIND_STRUCT)
			return strcmp(name_of(view, type), "task_struct") ? BTF_ARGUMENT_OTHER
									  : BTF_ARGUMENT_TASK;
		if (kind != BTF_KIND_PTR && kind != BTF_KIND_TYPEDEF && kind != BTF_KIND_CONST &&
			kind != BTF_KIND_VOLATILE && kind != BTF_KIND_TYPE_TAG)
			return BTF_ARGUMENT_OTHER;
		type = type_at(view, type->type);
	}
	return BTF_ARGUMENT_OTHER;
}

int btf_scan(const void *data, size_t size, struct btf_want *wants, size_t count)
{
	struct btf_view view = {0};
	int error = view_open(&view, data, size);

	if (!error)
		error = types_walk(&view, wants, count);
	for (size_t i = 0; !error && i < count; i++)
		if (wants[i].kind == BTF_WANT_TRACEPOINT && wants[i].id)
			wants[i].first = first_argument(&view, wants[i].id);
	free(view.offsets);
	return error;
}

static int read_whole(int fd, char *data, size_t size)
{
	size_t got = 0;

	while (got < size) {
		ssize_t count = read(fd, data + got, size - got);

		if (count < 0 && errno == EINTR)
			continue;
		if (count < 0)
			return -errno;
		if (count == 0)
			return -EBADMSG;
		got += count;
	}
	return 0;
}

int btf_scan_file(const char *path, struct btf_want *wants, size_t count)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC), error;
	struct stat status;
	void *data;

	if (fd < 0)
		return -errno;
	if (fstat(fd, &status) || status.st_size <= 0 || (size_t)status.st_size > MAX_BYTES) {
		close(fd);
		return -EBADMSG;
	}
	/* Kernels since 6.16 let it be mapped; others copy it out a page at a time. */
	data = mmap(NULL, status.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (data != MAP_FAILED) {
		error = btf_scan(data, status.st_size, wants, count);
		munmap(data, status.st_size);
	} else {
		data = malloc(status.st_size);
		error = data ? read_whole(fd, data, status.st_size) : -ENOMEM;
		if (!error)
			error = btf_scan(data, status.st_size, wants, count);
		free(data);
	}
	close(fd);
	return error;
}
