/* SPDX-License-Identifier: MIT */
/* fold.h - apply a macro to each (type, name) pair of an argument list. */
#pragma once

/* clang-format off */
#define FOLD_CAT_(a, b) a##b
#define FOLD_CAT(a, b)  FOLD_CAT_(a, b)
#define FOLD_N_(_1,_2,_3,_4,_5,_6,_7,_8,_9,_10,_11,_12,_13,_14,_15,_16,n,...) n
#define FOLD_N(...) FOLD_N_(__VA_ARGS__,16,15,14,13,12,11,10,9,8,7,6,5,4,3,2,1,0)

#define FOLD_1(f,c,a)      f(c,a)
#define FOLD_2(f,c,a,...)  f(c,a), FOLD_1(f,c,__VA_ARGS__)
#define FOLD_3(f,c,a,...)  f(c,a), FOLD_2(f,c,__VA_ARGS__)
#define FOLD_4(f,c,a,...)  f(c,a), FOLD_3(f,c,__VA_ARGS__)
#define FOLD_5(f,c,a,...)  f(c,a), FOLD_4(f,c,__VA_ARGS__)
#define FOLD_6(f,c,a,...)  f(c,a), FOLD_5(f,c,__VA_ARGS__)
#define FOLD_7(f,c,a,...)  f(c,a), FOLD_6(f,c,__VA_ARGS__)
#define FOLD_8(f,c,a,...)  f(c,a), FOLD_7(f,c,__VA_ARGS__)
#define FOLD_9(f,c,a,...)  f(c,a), FOLD_8(f,c,__VA_ARGS__)
#define FOLD_10(f,c,a,...) f(c,a), FOLD_9(f,c,__VA_ARGS__)
#define FOLD_11(f,c,a,...) f(c,a), FOLD_10(f,c,__VA_ARGS__)
#define FOLD_12(f,c,a,...) f(c,a), FOLD_11(f,c,__VA_ARGS__)
#define FOLD_13(f,c,a,...) f(c,a), FOLD_12(f,c,__VA_ARGS__)
#define FOLD_14(f,c,a,...) f(c,a), FOLD_13(f,c,__VA_ARGS__)
#define FOLD_15(f,c,a,...) f(c,a), FOLD_14(f,c,__VA_ARGS__)
#define FOLD_16(f,c,a,...) f(c,a), FOLD_15(f,c,__VA_ARGS__)
#define FOLD(f, c, ...)    FOLD_CAT(FOLD_, FOLD_N(__VA_ARGS__))(f, c, __VA_ARGS__)

#define FOLD_TYPED_(c, pair)  FOLD_TYPED__ pair
#define FOLD_TYPED__(t, n)    t n
#define FOLD_NAME_(c, pair)   FOLD_NAME__ pair
#define FOLD_NAME__(t, n)     n
#define FOLD_INDEX_(fn, pair) FOLD_INDEX__(fn, FOLD_NAME__ pair)
#define FOLD_INDEX__(fn, n)   FOLD_INDEX___(fn, n)
#define FOLD_INDEX___(fn, n)  fn##__##n
#define FOLD_WORD_(c, pair)   FOLD_WORD__(FOLD_NAME__ pair)
#define FOLD_WORD__(n)        gt_word_of(&(n), sizeof(n))
/* clang-format on */

#define PARAMS(...)      FOLD(FOLD_TYPED_, _, __VA_ARGS__)  /* cl_context context, size_t size */
#define NAMES(...)       FOLD(FOLD_NAME_, _, __VA_ARGS__)   /* context, size */
#define INDEXES(fn, ...) FOLD(FOLD_INDEX_, fn, __VA_ARGS__) /* clX__context, clX__size */
#define WORDS(...)       FOLD(FOLD_WORD_, _, __VA_ARGS__)   /* each argument as one 64-bit word */
#define UNWRAP(...)      __VA_ARGS__
