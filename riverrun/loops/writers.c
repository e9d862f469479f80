/* Records written for their consumers as they are shared out: see pure.py for what each does. */

#include "compiled.h"

/* A run for one consumer: values as a pickle, times beside them. */
typedef struct {
    PyObject_HEAD
    PyObject *shape; /* that of all values, or NULL */
    Output out;
    Py_ssize_t count;
    int timed;      /* whether the run has times */
    int64_t *times; /* used again for the next run */
    Py_ssize_t times_room;
    Py_ssize_t expected; /* bytes of the run before, about what the next one will have */
} Writer;

#define LARGE (1 << 16) /* bytes of a text, or of bytes, that pickle hands over as they are */

/* Writer(shape=None) */
static PyObject *new_writer(PyTypeObject *type, PyObject *args, PyObject *named)
{
    PyObject *shape = Py_None;
    static char *words[] = {"shape", NULL};
    if (!PyArg_ParseTupleAndKeywords(args, named, "|O", words, &shape)) {
        return NULL;
    }
    if (shape != Py_None && !PyObject_TypeCheck(shape, &Shape_Type)) {
        PyErr_Format(PyExc_TypeError, "a writer takes a shape or None, got %R", shape);
        return NULL;
    }
    Writer *self = (Writer *)type->tp_alloc(type, 0);
    if (self != NULL) {
        self->shape = shape == Py_None ? NULL : Py_NewRef(shape);
    }
    return (PyObject *)self;
}

static void dealloc_writer(Writer *self)
{
    Py_XDECREF(self->shape);
    Py_XDECREF(self->out.bytes);
    PyMem_Free(self->times);
    Py_TYPE(self)->tp_free((PyObject *)self);
}

/* take() -> (run, times | None) | None */
static PyObject *take(Writer *self, PyObject *ignored)
{
    (void)ignored;
    if (self->count == 0) {
        Py_RETURN_NONE;
    }
    Py_ssize_t count = self->count;
    self->count = 0;
    PyObject *run = end_run(&self->out);
    if (run == NULL) {
        return NULL;
    }
    self->expected = PyBytes_GET_SIZE(run);
    PyObject *times = Py_NewRef(Py_None);
    if (self->timed) {
        Py_SETREF(times, PyBytes_FromStringAndSize((const char *)self->times, count * (Py_ssize_t)sizeof *self->times));
    }
    PyObject *taken = times == NULL ? NULL : PyTuple_Pack(2, run, times);
    Py_XDECREF(times);
    Py_DECREF(run);
    return taken;
}

static int room_for_time(Writer *self)
{
    if (self->count < self->times_room) {
        return DONE;
    }
    Py_ssize_t more = self->times_room == 0 ? 1024 : 2 * self->times_room;
    int64_t *times = PyMem_Realloc(self->times, (size_t)more * sizeof *times);
    if (times == NULL) {
        PyErr_NoMemory();
        return FAILED;
    }
    self->times = times;
    self->times_room = more;
    return DONE;
}

static int write_one(Writer *self, PyObject *value, PyObject *time)
{
    if (self->count == 0) {
        self->timed = time != NULL;
    }
    if (self->timed != (time != NULL)) {
        PyErr_SetString(PyExc_ValueError, "a run has times, or it has none");
        return FAILED;
    }
    int64_t when = 0;
    if (time != NULL) {
        int overflow = 1;
        when = PyLong_CheckExact(time) ? PyLong_AsLongLongAndOverflow(time, &overflow) : 0;
        if (overflow) {
            return LEFT;
        }
        if (room_for_time(self) != DONE) {
            return FAILED;
        }
    }
    if (self->out.bytes == NULL) {
        Py_ssize_t size = self->expected + self->expected / 8 + 64;
        if (begin_run(&self->out, (const Shape *)self->shape, size, LARGE) != DONE) {
            return FAILED;
        }
    }
    int how = put_value(&self->out, value);
    if (how != DONE) {
        return how;
    }
    if (time != NULL) {
        self->times[self->count] = when;
    }
    self->count++;
    return DONE;
}

static int write_for(const Owners *owners, PyObject *writers, Run *run, Py_ssize_t i)
{
    int timed = run->columns[TIMES] != NULL, how = FAILED;
    PyObject *key = at(run, KEYS, i), *value = at(run, VALUES, i), *time = timed ? at(run, TIMES, i) : NULL;
    if (key != NULL && value != NULL && (time != NULL || !timed)) {
        Py_ssize_t owner = owner_of(owners, key);
        if (owner >= 0 && owner < PyTuple_GET_SIZE(writers)) {
            how = write_one((Writer *)PyTuple_GET_ITEM(writers, owner), value, time);
        } else if (!PyErr_Occurred()) {
            PyErr_Format(PyExc_IndexError, "owner %zd of %zd", owner, PyTuple_GET_SIZE(writers));
        }
    }
    Py_XDECREF(time);
    Py_XDECREF(value);
    Py_XDECREF(key);
    return how;
}

static int are_writers(PyObject *writers)
{
    int fits = PyTuple_CheckExact(writers);
    for (Py_ssize_t i = 0; fits && i < PyTuple_GET_SIZE(writers); i++) {
        fits = PyObject_TypeCheck(PyTuple_GET_ITEM(writers, i), &Writer_Type);
    }
    return fits;
}

/* share_written(writers, owners, keys, values, times, by_group) -> int */
PyObject *share_written(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    (void)module;
    if (!takes("share_written", 6, count)) {
        return NULL;
    }
    PyObject *writers = args[0], *times = args[4] == Py_None ? NULL : args[4];
    Owners owners = {.by_key = args[1]};
    if (!are_writers(writers) || !PyDict_Check(args[1])) {
        PyErr_SetString(PyExc_TypeError, "share_written takes a tuple of writers and a dict of owners");
        return NULL;
    }
    Run run;
    if (!take_up_groups(&owners, args[5]) || !take_up(&run, args[2], args[3], times)) {
        return NULL;
    }
    Py_ssize_t i = 0;
    int how = DONE;
    while (how == DONE && i < run.size) {
        how = write_for(&owners, writers, &run, i);
        i += how == DONE;
    }
    release(&run);
    return how == FAILED ? NULL : PyLong_FromSsize_t(i);
}

static PyMemberDef writer_members[] = {
    {"count", T_PYSSIZET, offsetof(Writer, count), READONLY, NULL},
    {NULL, 0, 0, 0, NULL},
};

static PyMethodDef writer_methods[] = {
    {"take", (PyCFunction)take, METH_NOARGS, "The run and its times; the next one begins."},
    {NULL, NULL, 0, NULL},
};

PyTypeObject Writer_Type = {
    PyVarObject_HEAD_INIT(NULL, 0)
    .tp_name = "riverrun.loops._compiled.Writer",
    .tp_basicsize = sizeof(Writer),
    .tp_flags = Py_TPFLAGS_DEFAULT,
    .tp_new = new_writer,
    .tp_dealloc = (destructor)dealloc_writer,
    .tp_members = writer_members,
    .tp_methods = writer_methods,
};
