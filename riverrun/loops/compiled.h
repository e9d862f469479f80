/* What the parts of riverrun.loops._compiled share. */

#ifndef RIVERRUN_COMPILED_H
#define RIVERRUN_COMPILED_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <structmember.h>

#include <stdint.h>

/* Whoever has a current key: the base of keyed state backends. */
typedef struct {
    PyObject_HEAD
    PyObject *key;
    PyObject *name_space;
} KeyHolder;

/* The record in hand as a context tells of it: the base of contexts of functions. */
typedef struct {
    PyObject_HEAD
    PyObject *time;
} Moment;

/* The times of the pair of records in hand: the base of contexts of joins. */
typedef struct {
    PyObject_HEAD
    PyObject *left;
    PyObject *right;
} PairTimes;

/* The entries of one state by key: the base of tables. */
typedef struct {
    PyObject_HEAD
    PyObject *backend;  /* a KeyHolder */
    PyObject *data;     /* a dict */
    PyObject *get;      /* how an entry is read while plain is false */
    PyObject *changed;  /* a set, or None */
    char plain;
} Entries;

/* How records of a type are plain values. */
typedef struct {
    PyObject_HEAD
    PyTypeObject *cls; /* NULL: they have no fields */
    PyObject *names;   /* a tuple; NULL: fields are items of a tuple, or of a list */
    PyObject *listed;  /* the name of the attribute that is this list, or NULL */
    PyObject *fixed;   /* a tuple of (attribute, value, other value) */
    PyObject *text;    /* the kinds */
    const char *kinds; /* the same */
    Py_ssize_t size;   /* how many fields */
} Shape;

extern PyTypeObject KeyHolder_Type, Moment_Type, PairTimes_Type, Entries_Type, Shape_Type, Writer_Type;

/* riverrun.loops.at_record, which raises an error again with a record in hand. */
extern PyObject *at_record;

/* Let the error that is set have ``value`` in hand, if there is one; NULL, always. */
PyObject *failed_at(PyObject *value);

/* Whether an exact int has one digit, which is most there are; no call, which it takes to read any other. */
static inline int is_short(PyObject *number, long long *value)
{
#if PY_VERSION_HEX >= 0x030C0000
    if (!PyUnstable_Long_IsCompact((PyLongObject *)number)) {
        return 0;
    }
    *value = (long long)PyUnstable_Long_CompactValue((PyLongObject *)number);
    return 1;
#else
    Py_ssize_t size = Py_SIZE(number);
    if (size < -1 || size > 1) {
        return 0;
    }
    *value = size == 0 ? 0 : (long long)size * (long long)((PyLongObject *)number)->ob_digit[0];
    return 1;
#endif
}

/* Whether ``value`` is of a class that nobody can change the instances of. */
static inline int is_atom(PyObject *value)
{
    PyTypeObject *type = Py_TYPE(value);
    return type == &PyLong_Type || type == &PyUnicode_Type || type == &PyFloat_Type || type == &PyBytes_Type ||
           type == &PyBool_Type || value == Py_None;
}

/* Take a tuple of atoms that is about to be kept out of the collector's list, as the collector would do itself. Now its
   neighbours there are in the CPU's caches; when it is dropped they are not. */
static inline void keep_quiet(PyObject *value)
{
    if (!PyTuple_CheckExact(value) || !PyObject_GC_IsTracked(value)) {
        return;
    }
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(value); i++) {
        if (!is_atom(PyTuple_GET_ITEM(value, i))) {
            return;
        }
    }
    PyObject_GC_UnTrack(value);
}

/* The columns of a run as sequences of one length: keys, values, times. */
typedef struct {
    PyObject *columns[3];
    Py_ssize_t size;
} Run;

enum { KEYS, VALUES, TIMES };

/* Take up to three columns, NULL for one that there is not; 0 with an error if they do not fit. */
int take_up(Run *run, PyObject *keys, PyObject *values, PyObject *times);
void release(Run *run);

/* Record ``i`` of a column, a new reference; NULL with an error if the user's code made it shorter. */
static inline PyObject *at(Run *run, int column, Py_ssize_t i)
{
    PyObject *from = run->columns[column];
    if (i >= PySequence_Fast_GET_SIZE(from)) {
        PyErr_SetString(PyExc_RuntimeError, "a run was changed while it was worked on");
        return NULL;
    }
    return Py_NewRef(PySequence_Fast_GET_ITEM(from, i));
}

/* What is called for each record or pair, and where what it yields goes. */
typedef struct {
    PyObject *function;
    PyObject *context;
    KeyHolder *holder;
    PyObject *out;
    PyObject *tag;
    PyObject *side;
    PyObject *out_times; /* NULL: the records have no times */
} Gathering;

/* Put what a call made where it belongs; -1 with an error. */
int put_made(Gathering *to, PyObject *made, PyObject *time);

/* A run of plain values that is being written as a pickle. */
typedef struct {
    PyObject *bytes; /* with room to spare; NULL when no run is begun, or there was no memory for more of it */
    char *at;
    char *end;
    Py_ssize_t large;   /* a text, or bytes, of so many bytes or more is left */
    const Shape *shape; /* that of all values; NULL: each has its own */
} Output;

enum { DONE, LEFT, FAILED };

#define DEEPEST 16 /* tuples in tuples */

int begin_run(Output *out, const Shape *shape, Py_ssize_t size, Py_ssize_t large);
/* LEFT: the value is not plain or not of the shape, or a part of it is large, and nothing of it was written. */
int put_value(Output *out, PyObject *value);
/* Parts of a value; after LEFT some of them may have been written. */
int put_byte(Output *out, char byte);
int put_plain(Output *out, PyObject *value, int depth);
int put_shaped(Output *out, PyObject *value);
/* The run, a new reference, or NULL with an error; none is begun afterwards. */
PyObject *end_run(Output *out);

/* A record of its parts, whose references are taken; NULL with an error. */
PyObject *made_of(const Shape *shape, PyObject **parts);

/* Who gets the records of a key. */
typedef struct {
    PyObject *by_key;        /* a dict */
    const int32_t *by_group; /* NULL: all are in the dict */
    uint64_t groups;
} Owners;

/* Take up who gets which group; 0 with an error if that is no row of numbers. */
int take_up_groups(Owners *owners, PyObject *by_group);
/* The place of a key's owner, which the dict may have to work out; -1 with an error. */
Py_ssize_t owner_of(const Owners *owners, PyObject *key);

PyObject *encode(PyObject *module, PyObject *values);
PyObject *decode(PyObject *module, PyObject *data);
PyObject *encode_shaped(PyObject *module, PyObject *const *args, Py_ssize_t count);
PyObject *decode_shaped(PyObject *module, PyObject *const *args, Py_ssize_t count);

PyObject *items(PyObject *module, PyObject *const *args, Py_ssize_t count);
PyObject *share(PyObject *module, PyObject *const *args, Py_ssize_t count);
PyObject *share_written(PyObject *module, PyObject *const *args, Py_ssize_t count);
PyObject *fold(PyObject *module, PyObject *const *args, Py_ssize_t count);
PyObject *fold_new(PyObject *module, PyObject *const *args, Py_ssize_t count);
PyObject *gather(PyObject *module, PyObject *const *args, Py_ssize_t count);
PyObject *gather_timed(PyObject *module, PyObject *const *args, Py_ssize_t count);
PyObject *hold(PyObject *module, PyObject *const *args, Py_ssize_t count);
PyObject *meet(PyObject *module, PyObject *const *args, Py_ssize_t count);

PyObject *all_plain(PyObject *module, PyObject *data);
PyObject *extent(PyObject *module, PyObject *numbers);
PyObject *same_keys(PyObject *module, PyObject *const *args, Py_ssize_t count);
PyObject *words(PyObject *module, PyObject *const *args, Py_ssize_t count);

/* Whether a function got as many arguments as it takes; sets TypeError if not. */
static inline int takes(const char *name, Py_ssize_t expected, Py_ssize_t count)
{
    if (expected == count) {
        return 1;
    }
    PyErr_Format(PyExc_TypeError, "%s takes %zd arguments, got %zd", name, expected, count);
    return 0;
}

#endif
