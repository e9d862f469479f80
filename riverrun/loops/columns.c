/* Loops over the entries of a state: see pure.py for what each does. */

#include "compiled.h"

#include <string.h>

/* Entries between the one in hand and the one whose value is fetched into the caches: values lie anywhere. */
enum { AHEAD = 16 };

#if defined(__GNUC__)
#define FETCH(object) __builtin_prefetch(object)
#else
#define FETCH(object) ((void)(object))
#endif

PyObject *same_keys(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    (void)module;
    if (!takes("same_keys", 2, count)) {
        return NULL;
    }
    if (!PyDict_Check(args[0]) || !PyTuple_Check(args[1])) {
        PyErr_SetString(PyExc_TypeError, "same_keys takes a dict and a tuple");
        return NULL;
    }
    Py_ssize_t size = PyTuple_GET_SIZE(args[1]), place = 0, at = 0;
    if (PyDict_GET_SIZE(args[0]) != size) {
        Py_RETURN_FALSE;
    }
    PyObject *key;
    while (PyDict_Next(args[0], &place, &key, NULL)) {
        if (PyTuple_GET_ITEM(args[1], at) != key) {
            Py_RETURN_FALSE;
        }
        at++;
    }
    Py_RETURN_TRUE;
}

PyObject *all_plain(PyObject *module, PyObject *data)
{
    (void)module;
    if (!PyDict_Check(data)) {
        PyErr_SetString(PyExc_TypeError, "all_plain takes a dict");
        return NULL;
    }
    Py_ssize_t place = 0, ahead = 0;
    PyObject *value, *later;
    for (int i = 0; i < AHEAD && PyDict_Next(data, &ahead, NULL, &later); i++) {
        FETCH(later);
    }
    while (PyDict_Next(data, &place, NULL, &value)) {
        if (PyDict_Next(data, &ahead, NULL, &later)) {
            FETCH(later);
        }
        if (is_atom(value)) {
            continue;
        }
        if (!PyTuple_CheckExact(value)) {
            Py_RETURN_FALSE;
        }
        for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(value); i++) {
            if (!is_atom(PyTuple_GET_ITEM(value, i))) {
                Py_RETURN_FALSE;
            }
        }
    }
    Py_RETURN_TRUE;
}

/* Whether ``value`` is of the class and fits into eight bytes, which it is put into. */
static int put_word(PyObject *value, PyTypeObject *kind, char *word)
{
    if (!Py_IS_TYPE(value, kind)) {
        return 0;
    }
    if (kind == &PyFloat_Type) {
        double number = PyFloat_AS_DOUBLE(value);
        memcpy(word, &number, sizeof number);
        return 1;
    }
    int overflow;
    long long number = PyLong_AsLongLongAndOverflow(value, &overflow);
    memcpy(word, &number, sizeof number);
    return !overflow;
}

PyObject *words(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    (void)module;
    if (!takes("words", 2, count)) {
        return NULL;
    }
    PyTypeObject *kind = (PyTypeObject *)args[1];
    if (!PyDict_Check(args[0]) || (kind != &PyLong_Type && kind != &PyFloat_Type)) {
        PyErr_SetString(PyExc_TypeError, "words takes a dict and int or float");
        return NULL;
    }
    PyObject *found = PyBytes_FromStringAndSize(NULL, PyDict_GET_SIZE(args[0]) * 8);
    if (found == NULL) {
        return NULL;
    }
    char *word = PyBytes_AS_STRING(found);
    Py_ssize_t place = 0, ahead = 0;
    PyObject *value, *later;
    for (int i = 0; i < AHEAD && PyDict_Next(args[0], &ahead, NULL, &later); i++) {
        FETCH(later);
    }
    /* Nothing in this loop runs code of others, so the dict stays as it is. */
    while (PyDict_Next(args[0], &place, NULL, &value)) {
        if (PyDict_Next(args[0], &ahead, NULL, &later)) {
            FETCH(later);
        }
        if (!put_word(value, kind, word)) {
            Py_DECREF(found);
            Py_RETURN_NONE;
        }
        word += 8;
    }
    return found;
}

/* extent(numbers) -> (least, greatest) | None */
PyObject *extent(PyObject *module, PyObject *numbers)
{
    (void)module;
    if (!PyList_CheckExact(numbers) || PyList_GET_SIZE(numbers) == 0) {
        Py_RETURN_NONE;
    }
    long long least = LLONG_MAX, greatest = LLONG_MIN;
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(numbers); i++) {
        PyObject *each = PyList_GET_ITEM(numbers, i);
        if (!PyLong_CheckExact(each)) {
            Py_RETURN_NONE;
        }
        int overflow;
        long long number = PyLong_AsLongLongAndOverflow(each, &overflow);
        if (overflow) {
            Py_RETURN_NONE;
        }
        least = number < least ? number : least;
        greatest = number > greatest ? number : greatest;
    }
    return Py_BuildValue("(LL)", least, greatest);
}
