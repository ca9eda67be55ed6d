/* SPDX-License-Identifier: MIT */
/* lanes.c - the lanes of a trace: decodes their records, and merges their events by time. */
#include <string.h>

#include "base/bytes.h"
#include "trace/reader_state.h"

/*
 * The next varint, of at most eight bytes, all at once; nothing is read if it is longer. At least
 * eight bytes must be readable.
 */
static inline bool get_quickly(const uint8_t **at, uint64_t *value)
{
	const uint64_t tops = 0x8080808080808080u;
	uint64_t v, last;

	memcpy(&v, *at, sizeof v);
	last = ~v & tops; /* the lowest bit is that of the last byte */
	if (!last)
		return false;
	*at += __builtin_ctzll(last) / 8 + 1;
	v &= (last ^ (last - 1)) & ~tops;
	v = (v & 0x007f007f007f007f) | (v & 0x7f007f007f007f00) >> 1;
	v = (v & 0x00003fff00003fff) | (v & 0x3fff00003fff0000) >> 2;
	*value = (v & 0x0fffffff) | (v & 0x0fffffff00000000) >> 4;
	return true;
}

/* The same, for what mostly has one byte or two; which of them is no matter. */
static inline bool get_short(const uint8_t **at, uint64_t *value)
{
	uint64_t first = (*at)[0], second = (*at)[1], more = first >> 7;

	if (first & second & 0x80)
		return get_quickly(at, value);
	*value = (first & 0x7f) | (second << 7 & (0 - more));
	*at += 1 + more;
	return true;
}

/*
 * Whose owner and place a creation's differ from. In traces of version 1, those of the lane's last
 * creation, and it has no flags: size, owner and place are always there.
 */
enum origin_rule { LAST_OF_LANE, LAST_OF_FUNCTION };

static inline enum origin_rule origin_rule_of(const struct gt_reader *r)
{
	return r->file.header.version > 1 ? LAST_OF_FUNCTION : LAST_OF_LANE;
}

/* Size, owner and place of a creation. */
struct created {
	uint64_t size, owner, place;
	unsigned origin;
};

/* What is known of it before its bytes are read: its origin. */
static inline struct created created_before(const struct lane *lane, enum origin_rule rule,
					    uint64_t function_number)
{
	unsigned origin = rule == LAST_OF_FUNCTION ? gt_origin_of(function_number) : 0;

	return (struct created){ .owner = lane->origins.owners[origin],
				 .place = lane->origins.places[origin],
				 .origin = origin };
}

/* Once its event is complete. */
static inline void keep_origin(struct lane *lane, const struct created *c)
{
	lane->origins.owners[c->origin] = c->owner;
	lane->origins.places[c->origin] = (uint16_t)c->place;
}

static inline bool get_created_quickly(enum origin_rule rule, const uint8_t **at, struct created *c)
{
	unsigned flags = rule == LAST_OF_FUNCTION ? *(*at)++ : GT_HAS_ALL;
	uint64_t delta = 0;

	if (flags > GT_HAS_ALL || (flags & GT_HAS_SIZE && !get_quickly(at, &c->size)) ||
	    (flags & GT_HAS_OWNER && !get_quickly(at, &delta)) ||
	    (flags & GT_HAS_PLACE && !get_short(at, &c->place)))
		return false;
	c->owner = gt_advance(c->owner, delta);
	return c->place <= UINT16_MAX;
}

/* False if the flags are unknown; incomplete bytes are noted in `b`. */
static bool get_created(enum origin_rule rule, struct gt_bytes *b, struct created *c)
{
	uint64_t flags = rule == LAST_OF_FUNCTION ? gt_get_varint(b) : GT_HAS_ALL;

	if (flags & GT_HAS_SIZE)
		c->size = gt_get_varint(b);
	if (flags & GT_HAS_OWNER)
		c->owner = gt_advance(c->owner, gt_get_varint(b));
	if (flags & GT_HAS_PLACE)
		c->place = gt_get_varint(b);
	return flags <= GT_HAS_ALL && c->place <= UINT16_MAX;
}

/*
 * Decodes events of the usual form into `ahead`, up to the first record that is anything else, and
 * returns how many. It may read into the zeroes behind the records: seven numbers of eight bytes
 * each, and a byte.
 */
static inline __attribute__((always_inline)) size_t decode_quickly(const struct gt_reader *r,
								   struct lane *lane,
								   enum origin_rule rule)
{
	const struct gt_definitions *d = &r->definitions;
	const uint8_t *at = lane->bytes.at, *end = lane->bytes.end;
	uint64_t time_ns = lane->time_ns, of_handle = lane->handle;
	uint64_t end_size = lane->end_size, end_place = lane->end_place;
	size_t count = 0;

	if (lane->duration_ns || gt_bytes_left(&lane->touches.left))
		return 0;
	while (at < end && count < LANE_AHEAD) {
		struct created c = { .size = end_size, .place = end_place };
		uint64_t tag, number, time, handle, stack;
		bool creates;

		if (!get_short(&at, &tag) || tag < GT_TAG_EVENT || tag & 1)
			break;
		number = (tag - GT_TAG_EVENT) / 2;
		if (number - 1 >= d->function_count || d->functions[number - 1] == GT_FN_NONE)
			break;
		creates = d->effects[number - 1] == GT_CREATE;
		if (!get_short(&at, &time) || !get_quickly(&at, &handle))
			break;
		if (creates) {
			c = created_before(lane, rule, number);
			if (!get_created_quickly(rule, &at, &c))
				break;
		}
		if (!get_short(&at, &stack) || at > end || stack > d->stack_count)
			break;
		time_ns = gt_advance(time_ns, time);
		of_handle = gt_advance(of_handle, handle);
		if (creates)
			keep_origin(lane, &c);
		end_size = end_place = 0;
		lane->ahead[count++] = (struct gt_event){ .time_ns = time_ns,
							  .handle = of_handle,
							  .size = c.size,
							  .owner = c.owner,
							  .stack = (uint32_t)stack,
							  .tid = lane->tid,
							  .function = d->functions[number - 1],
							  .place = (uint16_t)c.place,
							  .phase = lane->phase };
		lane->bytes.at = at;
	}
	lane->time_ns = time_ns;
	lane->handle = of_handle;
	lane->end_size = end_size;
	lane->end_place = (uint16_t)end_place;
	return count;
}

/* Decodes an event after its tag; false when it is incomplete or refers to nothing defined. */
static bool decode_event(struct gt_reader *r, struct lane *lane, uint64_t tag, struct gt_event *e)
{
	const struct gt_definitions *d = &r->definitions;
	struct gt_bytes *b = &lane->bytes;
	struct created c = { .size = lane->end_size, .place = lane->end_place };
	uint64_t number = (tag - GT_TAG_EVENT) / 2, stack;
	enum origin_rule rule = origin_rule_of(r);
	bool creates;

	if (!number || number > d->function_count)
		return false;
	*e = (struct gt_event){ .function = d->functions[number - 1], .failed = tag & 1 };
	e->time_ns = gt_advance(lane->time_ns, gt_get_varint(b));
	e->handle = gt_advance(lane->handle, gt_get_varint(b));
	creates = d->effects[number - 1] == GT_CREATE;
	if (creates) {
		c = created_before(lane, rule, number);
		if (!get_created(rule, b, &c))
			return false;
	}
	e->size = c.size;
	e->owner = c.owner;
	e->place = (uint16_t)c.place;
	if (lane->duration_ns) {
		e->duration_ns = lane->duration_ns;
		e->start_ns = e->time_ns - lane->since_ns;
		lane->duration_ns = 0;
	}
	lane->end_size = lane->end_place = 0;
	if (e->failed)
		e->result = (int32_t)gt_unzigzag(gt_get_varint(b));
	stack = gt_get_varint(b);
	if (b->bad || stack > d->stack_count)
		return false;
	e->stack = (uint32_t)stack;
	e->tid = lane->tid;
	e->phase = lane->phase;
	lane->time_ns = e->time_ns;
	lane->handle = e->handle;
	if (creates)
		keep_origin(lane, &c);
	return true;
}

static bool decode_sample(struct gt_reader *r, struct lane *lane, struct gt_bytes *record)
{
	uint64_t time = gt_advance(lane->time_ns, gt_get_varint(record));
	uint64_t series = gt_get_varint(record);
	int64_t value = gt_unzigzag(gt_get_varint(record));

	if (record->bad || !series || series > r->definitions.series_count)
		return false;
	lane->time_ns = time;
	lane->ahead[0] = (struct gt_event){
		.time_ns = time, .tid = lane->tid, .handle = series, .size = (uint64_t)value
	};
	return true;
}

static bool decode_other(struct gt_reader *r, struct lane *lane, uint64_t tag)
{
	size_t size;
	const uint8_t *payload = gt_get_blob(&lane->bytes, &size);
	struct gt_bytes record = { .at = payload };

	if (!payload || tag == GT_TAG_END)
		return false;
	record.end = payload + size;
	if (tag == GT_TAG_SAMPLE)
		return decode_sample(r, lane, &record);
	if (tag == GT_TAG_PAGING) {
		bool is_whole =
			gt_paging_get(&lane->ahead[0], &record, lane->time_ns, lane->handle);

		lane->time_ns = lane->ahead[0].time_ns;
		lane->handle = lane->ahead[0].owner;
		return is_whole;
	}
	if (tag == GT_TAG_TOUCH) {
		lane->ahead[0] = (struct gt_event){ .time_ns = lane->time_ns, .tid = lane->tid };
		record.bad = !gt_touches_begin(&lane->touches, &r->definitions, &record,
					       &lane->ahead[0]);
		lane->time_ns = lane->ahead[0].time_ns;
	}
	if (tag == GT_TAG_THREAD)
		lane->tid = (uint32_t)gt_get_varint(&record);
	if (tag == GT_TAG_THREAD || tag == GT_TAG_PHASE)
		lane->phase = tag == GT_TAG_PHASE ? (uint32_t)gt_get_varint(&record) : 0;
	if (tag == GT_TAG_THREAD || tag == GT_TAG_THREAD_END)
		lane->has_thread = tag == GT_TAG_THREAD;
	if (tag == GT_TAG_END_DETAIL) {
		lane->end_size = gt_get_varint(&record);
		lane->end_place = (uint16_t)gt_get_varint(&record);
	}
	if (tag == GT_TAG_CALL) {
		lane->duration_ns = gt_get_varint(&record);
		lane->since_ns = gt_get_varint(&record);
	}
	return !record.bad && lane->phase <= r->definitions.phase_count;
}

/* Decodes the next record, whatever it is; false when it is damaged. */
static bool decode_record(struct gt_reader *r, struct lane *lane, uint64_t *tag)
{
	*tag = GT_TAG_TOUCH;
	if (gt_bytes_left(&lane->touches.left))
		return gt_touches_next(&lane->touches, &lane->ahead[0]);
	*tag = gt_get_varint(&lane->bytes);
	if (*tag >= GT_TAG_EVENT)
		return decode_event(r, lane, *tag, &lane->ahead[0]);
	return !lane->bytes.bad && decode_other(r, lane, *tag);
}

/* True if a record with this tag, which is the first of `ahead` now, is to be returned as an event.
 */
static bool is_returned(struct gt_reader *r, const struct lane *lane, uint64_t tag)
{
	if (tag < GT_TAG_EVENT)
		return tag == GT_TAG_SAMPLE || tag == GT_TAG_PAGING || tag == GT_TAG_TOUCH;
	if (lane->ahead[0].function != GT_FN_NONE)
		return true;
	r->unknown++;
	gt_reader_add_gap(r, lane->ahead[0].time_ns, lane->ahead[0].time_ns);
	return false;
}

/* Advances a lane to its next event, by any number of records and blocks. */
static __attribute__((noinline)) enum step step_on(struct gt_reader *r, struct lane *lane)
{
	uint64_t tag;

	do {
		const uint8_t *from;

		while (!gt_bytes_left(&lane->bytes) && !gt_bytes_left(&lane->touches.left)) {
			enum step step = gt_lane_load_block(r, lane);

			if (step != STEP_ON)
				return step;
		}
		from = lane->bytes.at;
		if (!decode_record(r, lane, &tag)) {
			gt_reader_note_damage(r, "a damaged record",
					      lane->blocks[lane->block_next - 1].offset +
						      sizeof(struct gt_block_header) +
						      (uint64_t)(from - lane->buffer));
			return STEP_DAMAGE;
		}
	} while (!is_returned(r, lane, tag));
	return STEP_ON;
}

/* Decodes a lane's next events; false at its end: the last one returned stays where it was. */
static __attribute__((noinline)) bool decode_more(struct gt_reader *r, struct lane *lane)
{
	/* compiled once for each, so that neither costs the other anything */
	size_t count = origin_rule_of(r) == LAST_OF_FUNCTION ?
			       decode_quickly(r, lane, LAST_OF_FUNCTION) :
			       decode_quickly(r, lane, LAST_OF_LANE);

	if (!count) {
		enum step step = step_on(r, lane);

		if (step == STEP_DAMAGE)
			gt_reader_lose_rest(r, lane);
		if (step != STEP_ON)
			return false;
		count = 1;
	}
	lane->ahead_count = (uint32_t)count;
	lane->ahead_next = 0;
	return true;
}

/* Advances a lane to its next event; false at its end. */
static inline bool advance(struct gt_reader *r, struct lane *lane)
{
	uint64_t time_ns;

	if (lane->ahead_next == lane->ahead_count && !decode_more(r, lane))
		return false;
	time_ns = lane->ahead[lane->ahead_next].time_ns;
	if (time_ns > lane->key)
		lane->key = time_ns;
	return true;
}

void gt_lanes_start(struct gt_reader *r)
{
	for (size_t i = 1; i < r->lane_count; i++)
		if (advance(r, &r->lanes[i]))
			gt_heap_push(&r->heap, r->lanes[i].key, (uint32_t)i);
}

bool gt_reader_key(const struct gt_reader *r, uint64_t *key)
{
	if (r->heap.count)
		*key = r->heap.items[0].key;
	return r->heap.count;
}

size_t gt_reader_read(struct gt_reader *r, struct gt_event *events, size_t most, uint64_t last_key,
		      bool *has_new_gap)
{
	size_t count = 0;

	r->has_new_gap = false;
	while (count < most && r->heap.count && r->heap.items[0].key <= last_key &&
	       !r->has_new_gap) {
		struct lane *lane = &r->lanes[r->heap.items[0].item];

		events[count++] = lane->ahead[lane->ahead_next++];
		if (advance(r, lane))
			gt_heap_rekey(&r->heap, lane->key);
		else
			gt_heap_pop(&r->heap);
	}
	*has_new_gap = r->has_new_gap;
	return count;
}

int gt_reader_next(struct gt_reader *r, struct gt_event *event)
{
	bool has_new_gap;

	return gt_reader_read(r, event, 1, UINT64_MAX, &has_new_gap) ?
		       1 :
		       gt_reader_unfinished(r, event);
}
