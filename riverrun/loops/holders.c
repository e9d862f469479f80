/* What loops read and set for each record: the current key, the time of a record, the entries of a state. */

#include "compiled.h"

static int traverse_key_holder(KeyHolder *self, visitproc visit, void *arg)
{
    Py_VISIT(self->key);
    Py_VISIT(self->name_space);
    return 0;
}

static int clear_key_holder(KeyHolder *self)
{
    Py_CLEAR(self->key);
    Py_CLEAR(self->name_space);
    return 0;
}

static void dealloc_key_holder(KeyHolder *self)
{
    PyObject_GC_UnTrack(self);
    clear_key_holder(self);
    Py_TYPE(self)->tp_free((PyObject *)self);
}

static PyMemberDef key_holder_members[] = {
    {"key", T_OBJECT_EX, offsetof(KeyHolder, key), 0, NULL},
    {"namespace", T_OBJECT_EX, offsetof(KeyHolder, name_space), 0, NULL},
    {NULL, 0, 0, 0, NULL},
};

PyTypeObject KeyHolder_Type = {
    PyVarObject_HEAD_INIT(NULL, 0)
    .tp_name = "riverrun.loops._compiled.KeyHolder",
    .tp_basicsize = sizeof(KeyHolder),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC,
    .tp_new = PyType_GenericNew,
    .tp_dealloc = (destructor)dealloc_key_holder,
    .tp_traverse = (traverseproc)traverse_key_holder,
    .tp_clear = (inquiry)clear_key_holder,
    .tp_members = key_holder_members,
};

static int traverse_moment(Moment *self, visitproc visit, void *arg)
{
    Py_VISIT(self->time);
    return 0;
}

static int clear_moment(Moment *self)
{
    Py_CLEAR(self->time);
    return 0;
}

static void dealloc_moment(Moment *self)
{
    PyObject_GC_UnTrack(self);
    clear_moment(self);
    Py_TYPE(self)->tp_free((PyObject *)self);
}

static PyMemberDef moment_members[] = {
    {"time", T_OBJECT_EX, offsetof(Moment, time), 0, NULL},
    {NULL, 0, 0, 0, NULL},
};

PyTypeObject Moment_Type = {
    PyVarObject_HEAD_INIT(NULL, 0)
    .tp_name = "riverrun.loops._compiled.Moment",
    .tp_basicsize = sizeof(Moment),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC,
    .tp_new = PyType_GenericNew,
    .tp_dealloc = (destructor)dealloc_moment,
    .tp_traverse = (traverseproc)traverse_moment,
    .tp_clear = (inquiry)clear_moment,
    .tp_members = moment_members,
};

static int traverse_pair_times(PairTimes *self, visitproc visit, void *arg)
{
    Py_VISIT(self->left);
    Py_VISIT(self->right);
    return 0;
}

static int clear_pair_times(PairTimes *self)
{
    Py_CLEAR(self->left);
    Py_CLEAR(self->right);
    return 0;
}

static void dealloc_pair_times(PairTimes *self)
{
    PyObject_GC_UnTrack(self);
    clear_pair_times(self);
    Py_TYPE(self)->tp_free((PyObject *)self);
}

static PyMemberDef pair_times_members[] = {
    {"left", T_OBJECT_EX, offsetof(PairTimes, left), 0, NULL},
    {"right", T_OBJECT_EX, offsetof(PairTimes, right), 0, NULL},
    {NULL, 0, 0, 0, NULL},
};

PyTypeObject PairTimes_Type = {
    PyVarObject_HEAD_INIT(NULL, 0)
    .tp_name = "riverrun.loops._compiled.PairTimes",
    .tp_basicsize = sizeof(PairTimes),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC,
    .tp_new = PyType_GenericNew,
    .tp_dealloc = (destructor)dealloc_pair_times,
    .tp_traverse = (traverseproc)traverse_pair_times,
    .tp_clear = (inquiry)clear_pair_times,
    .tp_members = pair_times_members,
};

static int traverse_entries(Entries *self, visitproc visit, void *arg)
{
    Py_VISIT(self->backend);
    Py_VISIT(self->data);
    Py_VISIT(self->get);
    Py_VISIT(self->changed);
    return 0;
}

static int clear_entries(Entries *self)
{
    Py_CLEAR(self->backend);
    Py_CLEAR(self->data);
    Py_CLEAR(self->get);
    Py_CLEAR(self->changed);
    return 0;
}

static void dealloc_entries(Entries *self)
{
    PyObject_GC_UnTrack(self);
    clear_entries(self);
    Py_TYPE(self)->tp_free((PyObject *)self);
}

/* The current key, a new reference; NULL with an error where there is none. */
static PyObject *current_key(Entries *self)
{
    if (self->backend == NULL || !PyObject_TypeCheck(self->backend, &KeyHolder_Type)) {
        PyErr_SetString(PyExc_TypeError, "the backend of a table is a KeyHolder");
        return NULL;
    }
    PyObject *key = ((KeyHolder *)self->backend)->key;
    if (key == NULL) {
        PyErr_SetString(PyExc_AttributeError, "key");
        return NULL;
    }
    if (self->data == NULL || !PyDict_Check(self->data)) {
        PyErr_SetString(PyExc_TypeError, "the entries of a table are a dict");
        return NULL;
    }
    return Py_NewRef(key);
}

/* A key that stands for none has no hash: the table says so in its own words. NULL, always. */
static PyObject *explained(Entries *self)
{
    if (PyErr_ExceptionMatches(PyExc_TypeError)) {
        PyObject *type, *value, *traceback;
        PyErr_Fetch(&type, &value, &traceback);
        PyObject *address = PyObject_CallMethod((PyObject *)self, "_address", NULL);
        if (address == NULL) {
            Py_XDECREF(type);
            Py_XDECREF(value);
            Py_XDECREF(traceback);
            return NULL;
        }
        Py_DECREF(address);
        PyErr_Restore(type, value, traceback);
    }
    return NULL;
}

static PyObject *entry(Entries *self, PyObject *ignored)
{
    (void)ignored;
    PyObject *key = current_key(self);
    if (key == NULL) {
        return NULL;
    }
    PyObject *found;
    if (self->plain) {
        found = Py_XNewRef(PyDict_GetItemWithError(self->data, key));
        if (found == NULL && !PyErr_Occurred()) {
            found = Py_NewRef(Py_None);
        }
    } else {
        PyObject *get = Py_NewRef(self->get);
        found = PyObject_CallOneArg(get, key);
        Py_DECREF(get);
    }
    Py_DECREF(key);
    return found == NULL ? explained(self) : found;
}

static PyObject *put_entry(Entries *self, PyObject *value)
{
    if (value == Py_None) {
        return PyObject_CallMethod((PyObject *)self, "clear", NULL);
    }
    PyObject *key = current_key(self);
    if (key == NULL) {
        return NULL;
    }
    keep_quiet(value);
    int failed = PyDict_SetItem(self->data, key, value);
    if (!failed && self->changed != NULL && self->changed != Py_None) {
        failed = PySet_Add(self->changed, key);
    }
    Py_DECREF(key);
    return failed ? explained(self) : Py_NewRef(Py_None);
}

static PyMemberDef entries_members[] = {
    {"_backend", T_OBJECT_EX, offsetof(Entries, backend), 0, NULL},
    {"data", T_OBJECT_EX, offsetof(Entries, data), 0, NULL},
    {"_get", T_OBJECT_EX, offsetof(Entries, get), 0, NULL},
    {"changed", T_OBJECT_EX, offsetof(Entries, changed), 0, NULL},
    {"_plain", T_BOOL, offsetof(Entries, plain), 0, NULL},
    {NULL, 0, 0, 0, NULL},
};

static PyMethodDef entries_methods[] = {
    {"entry", (PyCFunction)entry, METH_NOARGS, "The current key's entry, or None."},
    {"put_entry", (PyCFunction)put_entry, METH_O, "Set the current key's entry; None removes it."},
    {NULL, NULL, 0, NULL},
};

PyTypeObject Entries_Type = {
    PyVarObject_HEAD_INIT(NULL, 0)
    .tp_name = "riverrun.loops._compiled.Entries",
    .tp_basicsize = sizeof(Entries),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC,
    .tp_new = PyType_GenericNew,
    .tp_dealloc = (destructor)dealloc_entries,
    .tp_traverse = (traverseproc)traverse_entries,
    .tp_clear = (inquiry)clear_entries,
    .tp_members = entries_members,
    .tp_methods = entries_methods,
};
