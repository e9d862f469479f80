/* What the parts of riverrun.loops._compiled share. */

#ifndef RIVERRUN_COMPILED_H
#define RIVERRUN_COMPILED_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <structmember.h>

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

extern PyTypeObject KeyHolder_Type, Moment_Type, PairTimes_Type, Entries_Type;

/* riverrun.loops.at_record, which raises an error again with a record in hand. */
extern PyObject *at_record;

/* Let the error that is set have ``value`` in hand, if there is one; NULL, always. */
PyObject *failed_at(PyObject *value);

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

PyObject *encode(PyObject *module, PyObject *values);
PyObject *decode(PyObject *module, PyObject *data);

PyObject *items(PyObject *module, PyObject *const *args, Py_ssize_t count);
PyObject *share(PyObject *module, PyObject *const *args, Py_ssize_t count);
PyObject *fold(PyObject *module, PyObject *const *args, Py_ssize_t count);
PyObject *fold_new(PyObject *module, PyObject *const *args, Py_ssize_t count);
PyObject *gather(PyObject *module, PyObject *const *args, Py_ssize_t count);
PyObject *gather_timed(PyObject *module, PyObject *const *args, Py_ssize_t count);
PyObject *hold(PyObject *module, PyObject *const *args, Py_ssize_t count);
PyObject *meet(PyObject *module, PyObject *const *args, Py_ssize_t count);

PyObject *all_plain(PyObject *module, PyObject *data);
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
