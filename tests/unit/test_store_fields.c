// SPDX-License-Identifier: Apache-2.0
/*
 * No member of an incident is left out of a store. The structs are declared here without padding,
 * so that their size is the sum of their members: if the fields cover as many bytes, and none of
 * them twice, they cover all. (The library has them with padding: nothing of them is handed over.)
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <linux/types.h>
#include <sqlite3.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>

#pragma pack(push, 1)
#include "model/capture.h"
#include "model/killing.h"
#include "model/refusing.h"
#pragma pack(pop)

#include "model/store_fields.h"

static size_t rows_of(const struct field_table *table)
{
	return table->row_max ? table->row_max : 1;
}

static size_t bytes_of(const struct field_table *table)
{
	size_t bytes = 0;

	for (size_t i = 0; i < table->field_count; i++)
		bytes += table->fields[i].size * rows_of(table);
	return bytes;
}

static void test_every_member_of_an_incident_is_a_column(void **state)
{
	size_t bytes = 0;

	(void)state;
	for (size_t i = 0; i < store_field_table_count; i++)
		bytes += bytes_of(&store_field_tables[i]);
	assert_int_equal(bytes, sizeof(struct incident));
}

static void test_every_member_of_moment_and_run_is_a_column(void **state)
{
	(void)state;
	assert_int_equal(bytes_of(&store_fields_moment), sizeof(struct capture_moment));
	assert_int_equal(bytes_of(&store_fields_run) + bytes_of(&store_fields_run_hook) +
				 sizeof(((struct capture_run *)0)->id),
		sizeof(struct capture_run));
}

static void test_every_member_of_a_kill_is_a_column(void **state)
{
	(void)state;
	assert_int_equal(bytes_of(&store_fields_kill) + bytes_of(&store_fields_kill_target),
		sizeof(struct killing));
}

static void test_every_member_of_a_refusal_is_a_column(void **state)
{
	(void)state;
	assert_int_equal(bytes_of(&store_fields_refusal), sizeof(struct refusal));
}

/* The map is larger than any of the structs with its padding. */
static void mark(const struct field_table *table, unsigned char *map, size_t size)
{
	for (size_t i = 0; i < table->field_count; i++) {
		const struct field *field = &table->fields[i];

		if (table->row_max)
			assert_in_range(field->stride, field->size, size);
		for (size_t n = 0; n < rows_of(table); n++) {
			size_t at = field->offset + n * field->stride;

			assert_true(at + field->size <= size);
			for (size_t j = 0; j < field->size; j++)
				if (map[at + j]++)
					fail_msg("%s.%s is covered twice", table->table,
						field->column);
		}
	}
}

static void test_no_byte_is_covered_twice(void **state)
{
	static unsigned char incident[2 * sizeof(struct incident)];
	static unsigned char moment[2 * sizeof(struct capture_moment)];
	static unsigned char run[2 * sizeof(struct capture_run)];

	(void)state;
	for (size_t i = 0; i < store_field_table_count; i++)
		mark(&store_field_tables[i], incident, sizeof(incident));
	mark(&store_fields_moment, moment, sizeof(moment));
	mark(&store_fields_run, run, sizeof(run));
	mark(&store_fields_run_hook, run, sizeof(run));
}

static size_t size_of_type(enum field_type type)
{
	switch (type) {
	case FIELD_BOOL:
		return sizeof(bool);
	case FIELD_U8:
		return sizeof(uint8_t);
	case FIELD_U32:
	case FIELD_U32_OR_NONE:
	case FIELD_I32:
		return sizeof(uint32_t);
	case FIELD_CSTRING:
		return sizeof(char *);
	default:
		return sizeof(uint64_t);
	}
}

static void check_fields(const struct field_table *table)
{
	for (size_t i = 0; i < table->field_count; i++) {
		const struct field *field = &table->fields[i];

		if (field->type != FIELD_TEXT)
			assert_int_equal(field->size, size_of_type(field->type));
		if (field->type == FIELD_I32)
			assert_true(field->max <= INT32_MAX);
		for (size_t j = 0; j < i; j++)
			assert_string_not_equal(field->column, table->fields[j].column);
	}
}

static void test_fields_have_the_size_of_their_type(void **state)
{
	(void)state;
	for (size_t i = 0; i < store_field_table_count; i++)
		check_fields(&store_field_tables[i]);
	check_fields(&store_fields_moment);
	check_fields(&store_fields_told);
	check_fields(&store_fields_run);
	check_fields(&store_fields_run_hook);
	check_fields(&store_fields_verdict);
}

/* --- one value --- */

struct one {
	uint64_t number;
	char text[8];
};

static const struct field number_field = {
	.column = "number", .type = FIELD_U64, .size = 8, .offset = 0, .max = 100};

static void test_unknown_is_null_and_not_zero(void **state)
{
	struct one one = {.number = UINT64_MAX};
	struct store_value value = store_value_of(&number_field, &one, 0, NULL);

	(void)state;
	assert_int_equal(value.type, SQLITE_NULL);
	one.number = 0;
	value = store_value_of(&number_field, &one, 0, NULL);
	assert_int_equal(value.type, SQLITE_INTEGER);
	assert_int_equal(value.number, 0);
	store_member_clear(&number_field, &one, 0);
	assert_true(one.number == UINT64_MAX);
}

/* Which value, of which column, of which row, and whether it is a number or a text. */
static void test_a_sum_tells_all_that_differs(void **state)
{
	const struct store_value a = {.type = SQLITE_INTEGER, .number = 0x31};
	const struct store_value b = {.type = SQLITE_INTEGER, .number = 0x32};
	const struct store_value text = {.type = SQLITE_TEXT, .bytes = "1\0\0\0\0\0\0\0", .len = 8};
	const struct store_value null = {.type = SQLITE_NULL};
	uint32_t column = store_sum_column("table", "column");
	uint64_t sum = store_sum_value(column, 3, &a);

	(void)state;
	assert_int_equal(sum, store_sum_value(column, 3, &a));
	assert_int_not_equal(sum, store_sum_value(column, 3, &b));
	assert_int_not_equal(sum, store_sum_value(column, 4, &a));
	assert_int_not_equal(sum, store_sum_value(column, 3, &text));
	assert_int_not_equal(sum, store_sum_value(store_sum_column("table", "columm"), 3, &a));
	assert_int_not_equal(sum, store_sum_value(store_sum_column("tablec", "olumn"), 3, &a));
	assert_int_equal(store_sum_value(column, 3, &null), 0);
	assert_int_not_equal(sum, 0);
}

/* More address spaces than an incident can have. */
static void test_addresses_beyond_all_are_unknown(void **state)
{
	static struct store_addresses addresses;
	const struct field field = {.column = "mm", .type = FIELD_ADDRESS, .size = 8};
	struct store_value value;

	(void)state;
	store_addresses_reset(&addresses);
	for (uint64_t i = 1; i <= STORE_ADDRESSES; i++) {
		uint64_t address = 0xffff888000000000ULL + i * 64;

		value = store_value_of(&field, &address, 0, &addresses);
		assert_int_equal(value.number, i);
		value = store_value_of(&field, &address, 0, &addresses);
		assert_int_equal(value.number, i);
	}
	value = store_value_of(&field, &(uint64_t) {12345}, 0, &addresses);
	assert_int_equal(value.type, SQLITE_NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_member_of_an_incident_is_a_column),
		cmocka_unit_test(test_every_member_of_moment_and_run_is_a_column),
		cmocka_unit_test(test_every_member_of_a_kill_is_a_column),
		cmocka_unit_test(test_every_member_of_a_refusal_is_a_column),
		cmocka_unit_test(test_no_byte_is_covered_twice),
		cmocka_unit_test(test_fields_have_the_size_of_their_type),
		cmocka_unit_test(test_unknown_is_null_and_not_zero),
		cmocka_unit_test(test_a_sum_tells_all_that_differs),
		cmocka_unit_test(test_addresses_beyond_all_are_unknown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
