// SPDX-License-Identifier: Apache-2.0
/* One member of a struct as one value of a row, there and back, and its part of a checksum. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <zlib.h>

#include "base/buf.h"
#include "model/store_fields.h"

#define INSERT_MAX 16384 /* the longest statement has some 200 columns */

/* --- addresses --- */

void store_addresses_reset(struct store_addresses *addresses)
{
	memset(addresses, 0, sizeof(*addresses));
}

/* Its number, from 1 on, in the order of their coming. */
static int64_t address_number(struct store_addresses *addresses, uint64_t address)
{
	const size_t slots = 2 * STORE_ADDRESSES;
	size_t slot = (size_t)(address * 0x9e3779b97f4a7c15ULL >> 40) % slots;

	while (addresses->slots[slot]) {
		if (addresses->seen[addresses->slots[slot] - 1] == address)
			return addresses->slots[slot];
		slot = (slot + 1) % slots;
	}
	/* Cannot be: there are not so many tasks in an incident. Unknown is no lie. */
	if (addresses->count == STORE_ADDRESSES)
		return -1;
	addresses->seen[addresses->count++] = address;
	addresses->slots[slot] = (uint16_t)addresses->count;
	return (int64_t)addresses->count;
}

/* --- member to value --- */

size_t store_row_count(const struct field_table *table, const void *base)
{
	unsigned int count;

	if (!table->row_max)
		return 1;
	if (table->rows)
		return table->rows(base);
	memcpy(&count, (const char *)base + table->count_offset, sizeof(count));
	return count < table->row_max ? count : table->row_max;
}

static struct store_value number_value(int64_t number)
{
	return (struct store_value) {.type = SQLITE_INTEGER, .number = number};
}

static struct store_value number_or_null(int64_t number, bool is_null)
{
	return is_null ? (struct store_value) {.type = SQLITE_NULL} : number_value(number);
}

static struct store_value text_value(const char *text, size_t len)
{
	return (struct store_value) {.type = SQLITE_TEXT, .bytes = text, .len = len};
}

/* Of an array that need not end; an empty one is not known. */
static struct store_value array_value(const char *text, size_t size)
{
	return text[0] ? text_value(text, strnlen(text, size))
		       : (struct store_value) {.type = SQLITE_NULL};
}

static struct store_value address_value(uint64_t address, struct store_addresses *addresses)
{
	int64_t number = 0;

	if (address == UNKNOWN_U64 || !addresses)
		number = -1;
	else if (address)
		number = address_number(addresses, address);
	return number_or_null(number, number < 0);
}

struct store_value store_value_of(
	const struct field *field, const void *base, size_t n, struct store_addresses *addresses)
{
	const void *member = store_member(field, base, n);
	union {
		bool flag;
		uint8_t u8;
		uint32_t u32;
		int32_t i32;
		uint64_t u64;
		int64_t i64;
		const char *text;
	} value = {0};

	if (field->type == FIELD_TEXT)
		return array_value(member, field->size);
	memcpy(&value, member, field->size < sizeof(value) ? field->size : sizeof(value));
	switch (field->type) {
	case FIELD_BOOL:
		return number_value(value.flag);
	case FIELD_U8:
		return number_value(value.u8);
	case FIELD_U32:
		return number_value(value.u32);
	case FIELD_U32_OR_NONE:
		return number_or_null(value.u32, value.u32 == UINT32_MAX);
	case FIELD_I32:
		return number_value(value.i32);
	case FIELD_U64:
		return number_or_null(value.i64, value.u64 == UNKNOWN_U64);
	case FIELD_U64_KNOWN:
	case FIELD_I64:
		return number_value(value.i64);
	case FIELD_I64_OR_NONE:
		return number_or_null(value.i64, value.i64 == INT64_MIN);
	case FIELD_ADDRESS:
		return address_value(value.u64, addresses);
	default:
		return value.text ? text_value(value.text, strlen(value.text))
				  : (struct store_value) {.type = SQLITE_NULL};
	}
}

void store_value_bind(sqlite3_stmt *statement, int index, const struct store_value *value)
{
	if (value->type == SQLITE_INTEGER)
		sqlite3_bind_int64(statement, index, value->number);
	else
		db_bind_bytes(statement, index, value->type == SQLITE_NULL ? NULL : value->bytes,
			value->len);
}

/* --- value to member --- */

static void set_number(const struct field *field, void *member, int64_t number)
{
	bool flag = number != 0;
	uint8_t u8 = (uint8_t)number;
	uint32_t u32 = (uint32_t)number;

	if (field->type == FIELD_BOOL)
		memcpy(member, &flag, sizeof(flag));
	else if (field->size == sizeof(u8))
		memcpy(member, &u8, sizeof(u8));
	else if (field->size == sizeof(u32))
		memcpy(member, &u32, sizeof(u32));
	else
		memcpy(member, &number, sizeof(number));
}

void store_member_clear(const struct field *field, void *base, size_t n)
{
	void *member = (void *)store_member(field, base, n);

	memset(member, 0, field->size);
	if (field->type == FIELD_U32_OR_NONE || field->type == FIELD_U64 ||
		field->type == FIELD_ADDRESS)
		set_number(field, member, -1);
	else if (field->type == FIELD_I64_OR_NONE)
		set_number(field, member, INT64_MIN);
}

static bool is_within(int64_t number, uint64_t max)
{
	uint64_t distance = number < 0 ? -(uint64_t)number : (uint64_t)number;

	return !max || distance <= max;
}

static bool number_fits(const struct field *field, int64_t number)
{
	switch (field->type) {
	case FIELD_BOOL:
		return number == 0 || number == 1;
	case FIELD_U8:
		return number >= 0 && number <= UINT8_MAX;
	case FIELD_U32:
		return number >= 0 && number <= UINT32_MAX && is_within(number, field->max);
	case FIELD_U32_OR_NONE:
		return number >= 0 && number < UINT32_MAX && is_within(number, field->max);
	case FIELD_I32:
		return number >= INT32_MIN && number <= INT32_MAX && is_within(number, field->max);
	case FIELD_U64:
		/* Above INT64_MAX by its bits: fine where any value is. */
		return number != -1 && (!field->max || (uint64_t)number <= field->max);
	case FIELD_U64_KNOWN:
		return !field->max || (uint64_t)number <= field->max;
	case FIELD_I64:
		return is_within(number, field->max);
	case FIELD_I64_OR_NONE:
		return number != INT64_MIN && is_within(number, field->max);
	case FIELD_ADDRESS:
		return number >= 0 && number <= STORE_ADDRESSES;
	default:
		return false;
	}
}

static bool read_text(const struct field *field, void *member, sqlite3_stmt *statement, int column)
{
	if (!db_column_bytes(statement, column, member, field->size))
		return false;
	/* Written without an end, and never longer than this. */
	return (size_t)sqlite3_column_bytes(statement, column) == strlen(member);
}

bool store_member_read(
	const struct field *field, void *base, size_t n, sqlite3_stmt *statement, int column)
{
	void *member = (void *)store_member(field, base, n);
	int type = sqlite3_column_type(statement, column);
	int64_t number;

	store_member_clear(field, base, n);
	if (type == SQLITE_NULL)
		return true;
	if (field->type == FIELD_TEXT)
		return read_text(field, member, statement, column);
	number = sqlite3_column_int64(statement, column);
	if (type != SQLITE_INTEGER || !number_fits(field, number))
		return false;
	set_number(field, member, number);
	return true;
}

/* --- rows --- */

int store_row_prepare(
	struct db *db, const struct field_table *table, const char *keys, sqlite3_stmt **ret)
{
	char sql[INSERT_MAX];
	struct buf buf;
	const char *at = keys;

	buf_init(&buf, sql, sizeof(sql));
	buf_printf(&buf, "INSERT INTO %s(%s", table->table, keys);
	for (size_t i = 0; i < table->field_count; i++)
		buf_printf(&buf, ",%s", table->fields[i].column);
	buf_puts(&buf, ") VALUES(?");
	while ((at = strchr(at, ','))) {
		buf_puts(&buf, ",?");
		at++;
	}
	for (size_t i = 0; i < table->field_count; i++)
		buf_puts(&buf, ",?");
	buf_puts(&buf, ")");
	if (buf.full)
		return db_say(db, -ENOBUFS, "the statement is too long");
	return db_prepare(db, ret, sql);
}

void store_row_bind(sqlite3_stmt *statement, int first, const struct field_table *table,
	const void *base, size_t n, struct store_addresses *addresses)
{
	for (size_t i = 0; i < table->field_count; i++) {
		struct store_value value = store_value_of(&table->fields[i], base, n, addresses);

		store_value_bind(statement, first + (int)i, &value);
	}
}

/* --- checksums --- */

enum sum_type { SUM_NUMBER = 1, SUM_BYTES = 2, SUM_REAL = 3 };

static uint32_t add_bytes(uint32_t sum, const void *bytes, size_t len)
{
	return (uint32_t)crc32(sum, bytes, (uInt)len);
}

/* The same on every machine. */
static void put_number(unsigned char bytes[8], uint64_t number)
{
	for (int i = 0; i < 8; i++)
		bytes[i] = (unsigned char)(number >> 8 * i);
}

uint32_t store_sum_column(const char *table, const char *column)
{
	uint32_t sum = add_bytes((uint32_t)crc32(0, NULL, 0), table, strlen(table) + 1);

	return add_bytes(sum, column, strlen(column) + 1);
}

static uint64_t sum_of_bytes(uint32_t sum, int64_t n, const void *bytes, size_t len)
{
	unsigned char head[9];

	put_number(head, (uint64_t)n);
	head[8] = SUM_BYTES;
	return add_bytes(add_bytes(sum, head, sizeof(head)), bytes, len);
}

/* Each bit of the result hangs on each bit of the number, and no two numbers give the same. */
static uint64_t mix(uint64_t number)
{
	number = (number ^ number >> 32) * 0xd6e8feb86659fd93;
	number = (number ^ number >> 32) * 0xd6e8feb86659fd93;
	return number ^ number >> 32;
}

/* There are thousands of them in an incident: no bytes are gone over one by one. */
static uint64_t sum_of_number(uint32_t sum, int64_t n, enum sum_type type, uint64_t number)
{
	uint64_t place = mix((uint64_t)n << 2 | (uint64_t)type) ^ (uint64_t)sum << 32;

	return mix(mix(number) ^ place);
}

uint64_t store_sum_value(uint32_t column_sum, int64_t n, const struct store_value *value)
{
	if (value->type == SQLITE_NULL)
		return 0;
	if (value->type == SQLITE_INTEGER)
		return sum_of_number(column_sum, n, SUM_NUMBER, (uint64_t)value->number);
	return sum_of_bytes(column_sum, n, value->bytes, value->len);
}

uint64_t store_sum_read(uint32_t column_sum, int64_t n, sqlite3_stmt *statement, int column)
{
	struct store_value value = {.type = sqlite3_column_type(statement, column)};
	double real;

	switch (value.type) {
	case SQLITE_NULL:
		return 0;
	case SQLITE_INTEGER:
		value.number = sqlite3_column_int64(statement, column);
		break;
	case SQLITE_FLOAT:
		real = sqlite3_column_double(statement, column);
		memcpy(&value.number, &real, sizeof(real));
		return sum_of_number(column_sum, n, SUM_REAL, (uint64_t)value.number);
	default:
		value.bytes = value.type == SQLITE_TEXT
				      ? (const char *)sqlite3_column_text(statement, column)
				      : sqlite3_column_blob(statement, column);
		value.len = value.bytes ? (size_t)sqlite3_column_bytes(statement, column) : 0;
	}
	return store_sum_value(column_sum, n, &value);
}

static uint64_t table_sum(const struct field_table *table, const void *base, int64_t id)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < table->field_count; i++) {
		uint32_t column = store_sum_column(table->table, table->fields[i].column);

		for (size_t n = 0; n < store_row_count(table, base); n++) {
			struct store_value value = store_value_of(&table->fields[i], base, n, NULL);

			sum += store_sum_value(column, table->row_max ? (int64_t)n : id, &value);
		}
	}
	return sum;
}

int64_t store_run_sum(const struct capture_run *run)
{
	return (int64_t)(table_sum(&store_fields_run, run, run->id) +
			 table_sum(&store_fields_run_hook, run, run->id));
}
