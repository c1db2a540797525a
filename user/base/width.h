/* SPDX-License-Identifier: Apache-2.0 */
/*
 * width.h: how many columns of a terminal a character takes, without asking the locale: a static
 * binary in a bare container has none. Unicode 14.
 */
#ifndef OOMSNOOP_BASE_WIDTH_H
#define OOMSNOOP_BASE_WIDTH_H

#include <stdint.h>

/* 0: combines with the character before it; 1; 2: East Asian wide, emoji; -1: must not reach a
 * terminal as it is (controls, bidirectional overrides, invisible characters, noncharacters). */
int width_of(uint32_t character);

#endif /* OOMSNOOP_BASE_WIDTH_H */
