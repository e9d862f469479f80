/* Records that wait for partners, by bucket and key, and those that meet them: see pure.py. */

#include "compiled.h"

#define SLOTS 16

/* The buckets by number, with those at hand that were looked for last: runs ask for few, again and again. */
typedef struct {
    PyObject *by_number; /* a dict */
    long long width;
    struct {
        long long number;
        PyObject *bucket; /* NULL: there is none */
        int known;
    } slots[SLOTS];
} Buckets;

static int open_buckets(Buckets *buckets, PyObject *by_number, PyObject *width)
{
    *buckets = (Buckets){.by_number = by_number, .width = PyLong_AsLongLong(width)};
    if (buckets->width == -1 && PyErr_Occurred()) {
        return 0;
    }
    if (!PyDict_CheckExact(by_number) || buckets->width < 1) {
        PyErr_SetString(PyExc_TypeError, "buckets are a dict, and at least 1 wide");
        return 0;
    }
    return 1;
}

static void close_buckets(Buckets *buckets)
{
    for (int i = 0; i < SLOTS; i++) {
        Py_CLEAR(buckets->slots[i].bucket);
    }
}

/* The number of the bucket of a time. */
static inline long long number_of(const Buckets *buckets, long long time)
{
    long long number = time / buckets->width;
    return time % buckets->width < 0 ? number - 1 : number;
}

/* Look a bucket up, or make it and note its number in ``fresh`` unless that is NULL; a new reference, or NULL. */
static PyObject *look_up(Buckets *buckets, long long number, PyObject *fresh)
{
    PyObject *name = PyLong_FromLongLong(number);
    if (name == NULL) {
        return NULL;
    }
    PyObject *found = Py_XNewRef(PyDict_GetItemWithError(buckets->by_number, name));
    if (found == NULL && fresh != NULL && !PyErr_Occurred()) {
        found = PyDict_New();
        if (found != NULL &&
            (PyDict_SetItem(buckets->by_number, name, found) < 0 || PyList_Append(fresh, name) < 0)) {
            Py_CLEAR(found);
        }
    }
    Py_DECREF(name);
    if (found != NULL && !PyDict_CheckExact(found)) {
        PyErr_SetString(PyExc_TypeError, "a bucket is a dict");
        Py_CLEAR(found);
    }
    return found;
}

/* The bucket of a number, borrowed; NULL where there is none, or with an error. */
static inline PyObject *bucket_at(Buckets *buckets, long long number, PyObject *fresh)
{
    int i = (int)((unsigned long long)number % SLOTS);
    if (buckets->slots[i].known && buckets->slots[i].number == number) {
        return buckets->slots[i].bucket;
    }
    PyObject *found = look_up(buckets, number, fresh);
    if (found == NULL && PyErr_Occurred()) {
        return NULL;
    }
    Py_XSETREF(buckets->slots[i].bucket, found);
    buckets->slots[i].number = number;
    buckets->slots[i].known = 1;
    return found;
}

static int is_entry(PyObject *entry)
{
    if (PyTuple_CheckExact(entry) && PyTuple_GET_SIZE(entry) == 2) {
        return 1;
    }
    PyErr_SetString(PyExc_TypeError, "what is held is a time and a record");
    return 0;
}

/* A time as a number; -1 with an error if it is none. Most times have two digits, which this reads faster. */
static inline long long millis_of(PyObject *time)
{
    int overflow;
    long long millis = PyLong_AsLongLongAndOverflow(time, &overflow);
    if (overflow) {
        PyErr_SetString(PyExc_OverflowError, "a time has 64 bits");
    }
    return millis;
}

/* The time of an entry; -1 with an error if it is none. */
static inline long long time_of(PyObject *entry)
{
    return is_entry(entry) ? millis_of(PyTuple_GET_ITEM(entry, 0)) : -1;
}

/* Where in a list by time the entries after ``time`` begin; -1 with an error. */
static Py_ssize_t end_of(PyObject *entries, long long time)
{
    Py_ssize_t low = 0, high = PyList_GET_SIZE(entries);
    while (low < high) {
        /* Most records are the last ones so far. */
        Py_ssize_t middle = high == PyList_GET_SIZE(entries) ? high - 1 : (low + high) / 2;
        long long there = time_of(PyList_GET_ITEM(entries, middle));
        if (there == -1 && PyErr_Occurred()) {
            return -1;
        }
        if (there > time) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    return low;
}

/* A time and a record. */
static PyObject *new_entry(PyObject *time, PyObject *value)
{
    PyObject *entry = PyTuple_Pack(2, time, value);
    if (entry != NULL && (!PyObject_IS_GC(value) || (PyTuple_CheckExact(value) && !PyObject_GC_IsTracked(value)))) {
        /* In no cycle if the record is in none: the collector would find that out, and do the same. */
        PyObject_GC_UnTrack(entry);
    }
    return entry;
}

/* The list of what a key has, made of the only entry if that is all; a new reference for the one given. */
static PyObject *list_of(PyObject *bucket, PyObject *key, PyObject *held)
{
    if (PyList_CheckExact(held)) {
        return held;
    }
    PyObject *entries = PyList_New(1);
    if (entries == NULL) {
        Py_DECREF(held);
        return NULL;
    }
    PyList_SET_ITEM(entries, 0, held);
    if (PyDict_SetItem(bucket, key, entries) < 0) {
        Py_CLEAR(entries);
    }
    return entries;
}

/* Put an entry to those that its key has. */
static int hold_more(PyObject *bucket, PyObject *key, PyObject *held, PyObject *entry, long long time)
{
    PyObject *entries = list_of(bucket, key, Py_NewRef(held));
    Py_ssize_t place = entries == NULL ? -1 : end_of(entries, time);
    int failed = place < 0 || PyList_Insert(entries, place, entry) < 0;
    Py_XDECREF(entries);
    return failed ? -1 : 0;
}

static int hold_one(Buckets *buckets, PyObject *key, PyObject *value, PyObject *when, PyObject *fresh)
{
    long long time = millis_of(when);
    if (time == -1 && PyErr_Occurred()) {
        return -1;
    }
    PyObject *bucket = bucket_at(buckets, number_of(buckets, time), fresh);
    PyObject *entry = bucket == NULL ? NULL : new_entry(when, value);
    if (entry == NULL) {
        return -1;
    }
    PyObject *held = PyDict_SetDefault(bucket, key, entry);
    int failed = held == NULL || (held != entry && hold_more(bucket, key, held, entry, time) < 0);
    Py_DECREF(entry);
    return failed ? -1 : 0;
}

/* hold(buckets, width, keys, values, times) -> list */
PyObject *hold(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    (void)module;
    Buckets buckets;
    Run run;
    if (!takes("hold", 5, count) || !open_buckets(&buckets, args[0], args[1]) ||
        !take_up(&run, args[2], args[3], args[4])) {
        return NULL;
    }
    PyObject *fresh = PyList_New(0);
    for (Py_ssize_t i = 0; fresh != NULL && i < run.size; i++) {
        PyObject *key = at(&run, KEYS, i), *value = at(&run, VALUES, i), *time = at(&run, TIMES, i);
        if (key == NULL || value == NULL || time == NULL || hold_one(&buckets, key, value, time, fresh) < 0) {
            Py_CLEAR(fresh);
        }
        Py_XDECREF(time);
        Py_XDECREF(value);
        Py_XDECREF(key);
    }
    close_buckets(&buckets);
    release(&run);
    return fresh;
}

/* The record in hand, and which others it meets. */
typedef struct {
    Gathering to;
    Buckets buckets;
    long long lower, upper;
    int left;
    PyObject *key, *value, *when;
    long long time, first, last;
} Meeting;

/* The sum, or the end of the numbers that it is beyond: no time is after that. */
static inline long long bounded_sum(long long one, long long other)
{
    if (other > 0 && one > LLONG_MAX - other) {
        return LLONG_MAX;
    }
    return other < 0 && one < LLONG_MIN - other ? LLONG_MIN : one + other;
}

static int pair_up(Meeting *meeting, PyObject *entry, long long time)
{
    PyObject *when = PyTuple_GET_ITEM(entry, 0), *partner = PyTuple_GET_ITEM(entry, 1);
    PairTimes *context = (PairTimes *)meeting->to.context;
    int left = meeting->left;
    Py_XSETREF(meeting->to.holder->key, Py_NewRef(meeting->key));
    Py_XSETREF(context->left, Py_NewRef(left ? meeting->when : when));
    Py_XSETREF(context->right, Py_NewRef(left ? when : meeting->when));
    PyObject *args[] = {NULL, left ? meeting->value : partner, left ? partner : meeting->value, meeting->to.context};
    PyObject *made =
        PyObject_Vectorcall(meeting->to.function, args + 1, 3 | PY_VECTORCALL_ARGUMENTS_OFFSET, NULL);
    int failed = made == NULL || put_made(&meeting->to, made, time > meeting->time ? when : meeting->when) < 0;
    Py_XDECREF(made);
    return failed ? -1 : 0;
}

/* Meet one entry, which the caller holds, if it is within the interval. */
static int meet_entry(Meeting *meeting, PyObject *entry)
{
    long long time = time_of(entry);
    if (time == -1 && PyErr_Occurred()) {
        return -1;
    }
    return time < meeting->first || time > meeting->last ? 0 : pair_up(meeting, entry, time);
}

/* Meet what the key has in one bucket, which the caller holds. */
static int meet_held(Meeting *meeting, PyObject *held)
{
    if (!PyList_CheckExact(held)) {
        return meet_entry(meeting, held);
    }
    Py_ssize_t i = meeting->first == LLONG_MIN ? 0 : end_of(held, meeting->first - 1);
    for (; i >= 0 && i < PyList_GET_SIZE(held); i++) {
        PyObject *entry = Py_NewRef(PyList_GET_ITEM(held, i));
        long long time = time_of(entry);
        int failed = (time == -1 && PyErr_Occurred()) || (time <= meeting->last && pair_up(meeting, entry, time) < 0);
        Py_DECREF(entry);
        if (failed) {
            return -1;
        }
        if (time > meeting->last) {
            return 0;
        }
    }
    return i < 0 ? -1 : 0;
}

static int meet_all(Meeting *meeting)
{
    meeting->time = millis_of(meeting->when);
    if (meeting->time == -1 && PyErr_Occurred()) {
        return -1;
    }
    meeting->first = bounded_sum(meeting->time, meeting->lower);
    meeting->last = bounded_sum(meeting->time, meeting->upper);
    if (meeting->first > meeting->last) {
        return 0;
    }
    long long end = number_of(&meeting->buckets, meeting->last);
    for (long long number = number_of(&meeting->buckets, meeting->first);; number++) {
        PyObject *bucket = bucket_at(&meeting->buckets, number, NULL);
        PyObject *held = bucket == NULL ? NULL : Py_XNewRef(PyDict_GetItemWithError(bucket, meeting->key));
        int failed = held == NULL ? PyErr_Occurred() != NULL : meet_held(meeting, held) < 0;
        Py_XDECREF(held);
        if (failed) {
            return -1;
        }
        if (number == end) {
            return 0;
        }
    }
}

static int can_meet(Gathering *to)
{
    if (PyObject_TypeCheck(to->context, &PairTimes_Type) && PyObject_TypeCheck((PyObject *)to->holder, &KeyHolder_Type) &&
        PyList_CheckExact(to->out) && PyList_CheckExact(to->out_times)) {
        return 1;
    }
    PyErr_SetString(PyExc_TypeError, "meet takes PairTimes, a KeyHolder and lists");
    return 0;
}

/* meet(function, values, keys, context, holder, out, tag, side, times, out_times, buckets, width, lower, upper, left) */
PyObject *meet(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    (void)module;
    if (!takes("meet", 15, count)) {
        return NULL;
    }
    Meeting meeting = {
        .to = {args[0], args[3], (KeyHolder *)args[4], args[5], args[6], args[7], args[9]},
        .lower = PyLong_AsLongLong(args[12]),
        .left = PyObject_IsTrue(args[14]),
    };
    if (PyErr_Occurred()) {
        return NULL;
    }
    meeting.upper = PyLong_AsLongLong(args[13]);
    Run run;
    if (PyErr_Occurred() || !can_meet(&meeting.to) || !open_buckets(&meeting.buckets, args[10], args[11]) ||
        !take_up(&run, args[2], args[1], args[8])) {
        return NULL;
    }
    int failed = 0;
    for (Py_ssize_t i = 0; !failed && i < run.size; i++) {
        meeting.key = at(&run, KEYS, i);
        meeting.value = at(&run, VALUES, i);
        meeting.when = at(&run, TIMES, i);
        failed = meeting.key == NULL || meeting.value == NULL || meeting.when == NULL || meet_all(&meeting) < 0;
        if (failed) {
            failed_at(meeting.value);
        }
        Py_XDECREF(meeting.when);
        Py_XDECREF(meeting.value);
        Py_XDECREF(meeting.key);
    }
    close_buckets(&meeting.buckets);
    release(&run);
    return failed ? NULL : Py_NewRef(Py_None);
}
