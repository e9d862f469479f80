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

/* The entries of one state by key: the base of tables. */
typedef struct {
    PyObject_HEAD
    PyObject *backend;  /* a KeyHolder */
    PyObject *data;     /* a dict */
    PyObject *get;      /* how an entry is read while plain is false */
    PyObject *changed;  /* a set, or None */
    char plain;
} Entries;

extern PyTypeObject KeyHolder_Type, Moment_Type, Entries_Type;

/* riverrun.loops.at_record, which raises an error again with a record in hand. */
extern PyObject *at_record;

PyObject *encode(PyObject *module, PyObject *values);
PyObject *decode(PyObject *module, PyObject *data);

PyObject *items(PyObject *module, PyObject *const *args, Py_ssize_t count);
PyObject *share(PyObject *module, PyObject *const *args, Py_ssize_t count);
PyObject *fold(PyObject *module, PyObject *const *args, Py_ssize_t count);
PyObject *fold_new(PyObject *module, PyObject *const *args, Py_ssize_t count);
PyObject *gather(PyObject *module, PyObject *const *args, Py_ssize_t count);
PyObject *gather_timed(PyObject *module, PyObject *const *args, Py_ssize_t count);

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
