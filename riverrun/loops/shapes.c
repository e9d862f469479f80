/* Records of a known type written as plain values: see Shape in pure.py. */

#include "compiled.h"

#include <string.h>

static const char KINDS[] = "bhiqdsy?p";

static int put_kind(Output *out, PyObject *value, const char **kind, int depth);

/* Parts of a tuple, or of a list, up to the end of their kinds. */
static int put_parts(Output *out, PyObject *value, const char **kind, int depth)
{
    Py_ssize_t size = PySequence_Fast_GET_SIZE(value);
    int how = put_byte(out, '(');
    for (Py_ssize_t i = 0; how == DONE && i < size; i++) {
        how = **kind == ')' || **kind == 0 ? LEFT : put_kind(out, PySequence_Fast_GET_ITEM(value, i), kind, depth);
    }
    if (how == DONE && **kind != ')' && **kind != 0) {
        how = LEFT; /* fewer than there are kinds */
    }
    return how == DONE ? put_byte(out, 't') : how;
}

static int put_nested(Output *out, PyObject *value, const char **kind, int depth)
{
    if (!PyTuple_CheckExact(value)) {
        return LEFT;
    }
    int how = put_parts(out, value, kind, depth + 1);
    ++*kind; /* its end */
    return how;
}

static void skip_nested(const char **kind)
{
    for (int open = 1; open > 0; ++*kind) {
        open += **kind == '(' ? 1 : **kind == ')' ? -1 : 0;
    }
}

/* Whether an exact int has at most so many bits. */
static int is_within(PyObject *value, int bits)
{
    long long number;
    if (!is_short(value, &number)) {
        int overflow;
        number = PyLong_AsLongLongAndOverflow(value, &overflow);
        if (overflow) {
            return 0;
        }
    }
    long long limit = 1LL << (bits - 1);
    return -limit <= number && number < limit;
}

static int put_kind(Output *out, PyObject *value, const char **kind, int depth)
{
    PyTypeObject *type = Py_TYPE(value);
    char wanted = *(*kind)++;
    int fits = 0;
    if (value == Py_None) {
        if (wanted == '(') {
            skip_nested(kind);
        }
        return put_plain(out, value, depth);
    }
    switch (wanted) {
    case 'q': fits = type == &PyLong_Type; break;
    case 'i': fits = type == &PyLong_Type && is_within(value, 32); break;
    case 'h': fits = type == &PyLong_Type && is_within(value, 16); break;
    case 'b': fits = type == &PyLong_Type && is_within(value, 8); break;
    case 'd': fits = type == &PyFloat_Type; break;
    case 's': fits = type == &PyUnicode_Type; break;
    case 'y': fits = type == &PyBytes_Type; break;
    case '?': fits = type == &PyBool_Type; break;
    case 'p': fits = 1; break;
    case '(': return put_nested(out, value, kind, depth);
    default: break;
    }
    return fits ? put_plain(out, value, depth) : LEFT;
}

static int put_attributes(Output *out, const Shape *shape, PyObject *value)
{
    const char *kind = shape->kinds;
    int how = put_byte(out, '(');
    for (Py_ssize_t i = 0; how == DONE && i < shape->size; i++) {
        PyObject *part = PyObject_GetAttr(value, PyTuple_GET_ITEM(shape->names, i));
        if (part == NULL) { /* deleted; whoever checks types says so */
            PyErr_Clear();
            return LEFT;
        }
        how = put_kind(out, part, &kind, 1);
        Py_DECREF(part);
    }
    return how == DONE ? put_byte(out, 't') : how;
}

/* Whether an attribute is one of two values; -1 with an error. */
static int is_either(PyObject *value, PyObject *fixed)
{
    PyObject *found = PyObject_GetAttr(value, PyTuple_GET_ITEM(fixed, 0));
    if (found == NULL) {
        return -1;
    }
    int is = found == PyTuple_GET_ITEM(fixed, 2) ? 1 : PyObject_RichCompareBool(found, PyTuple_GET_ITEM(fixed, 1), Py_EQ);
    Py_DECREF(found);
    return is;
}

static int has_fixed(const Shape *shape, PyObject *value)
{
    int is = 1;
    for (Py_ssize_t i = 0; is == 1 && i < PyTuple_GET_SIZE(shape->fixed); i++) {
        is = is_either(value, PyTuple_GET_ITEM(shape->fixed, i));
    }
    return is;
}

static int put_listed(Output *out, const Shape *shape, PyObject *value)
{
    const char *kind = shape->kinds;
    int is = has_fixed(shape, value);
    PyObject *parts = is == 1 ? PyObject_GetAttr(value, shape->listed) : NULL;
    if (parts == NULL || !PyList_CheckExact(parts)) {
        PyErr_Clear(); /* it is not as it was made; whoever checks types says so */
        Py_XDECREF(parts);
        return LEFT;
    }
    int how = put_parts(out, parts, &kind, 1);
    Py_DECREF(parts);
    return how;
}

int put_shaped(Output *out, PyObject *value)
{
    const Shape *shape = out->shape;
    const char *kind = shape->kinds;
    if (shape->cls == NULL) {
        return put_kind(out, value, &kind, 0);
    }
    if (Py_TYPE(value) != shape->cls) {
        return LEFT;
    }
    if (shape->listed != NULL) {
        return put_listed(out, shape, value);
    }
    return shape->names == NULL ? put_parts(out, value, &kind, 1) : put_attributes(out, shape, value);
}

static PyObject *made_of_list(const Shape *shape, PyObject **parts)
{
    PyObject *made = NULL, *list = PyList_New(shape->size);
    for (Py_ssize_t i = 0; i < shape->size; i++) {
        if (list == NULL) {
            Py_DECREF(parts[i]);
        } else {
            PyList_SET_ITEM(list, i, parts[i]);
        }
    }
    int failed = list == NULL || (made = shape->cls->tp_alloc(shape->cls, 0)) == NULL;
    failed = failed || PyObject_GenericSetAttr(made, shape->listed, list) < 0;
    for (Py_ssize_t i = 0; !failed && i < PyTuple_GET_SIZE(shape->fixed); i++) {
        PyObject *fixed = PyTuple_GET_ITEM(shape->fixed, i);
        failed = PyObject_GenericSetAttr(made, PyTuple_GET_ITEM(fixed, 0), PyTuple_GET_ITEM(fixed, 1)) < 0;
    }
    Py_XDECREF(list);
    if (failed) {
        Py_CLEAR(made);
    }
    return made;
}

PyObject *made_of(const Shape *shape, PyObject **parts)
{
    if (shape->listed != NULL) {
        return made_of_list(shape, parts);
    }
    PyObject *made = shape->cls->tp_alloc(shape->cls, shape->names == NULL ? shape->size : 0);
    int failed = made == NULL;
    for (Py_ssize_t i = 0; i < shape->size; i++) {
        if (!failed && shape->names == NULL) {
            PyTuple_SET_ITEM(made, i, parts[i]);
            continue;
        }
        failed = failed || PyObject_GenericSetAttr(made, PyTuple_GET_ITEM(shape->names, i), parts[i]) < 0;
        Py_DECREF(parts[i]);
    }
    if (failed) {
        Py_CLEAR(made);
    } else if (shape->names == NULL && shape->cls->tp_dictoffset == 0) {
        PyObject_GC_UnTrack(made); /* it holds plain values only, so it is in no cycle */
    }
    return made;
}

/* Whether these are kinds, tuples in which are closed; how many, or -1. */
static Py_ssize_t count_kinds(const char *kind)
{
    Py_ssize_t size = 0;
    int open = 0;
    for (; *kind != 0; kind++) {
        size += open == 0 && *kind != ')';
        if (*kind == ')' ? --open < 0 : *kind == '(' ? ++open > DEEPEST - 2 : strchr(KINDS, *kind) == NULL) {
            return -1;
        }
    }
    return open == 0 ? size : -1;
}

static void dealloc_shape(Shape *self)
{
    Py_XDECREF(self->cls);
    Py_XDECREF(self->names);
    Py_XDECREF(self->listed);
    Py_XDECREF(self->fixed);
    Py_XDECREF(self->text);
    Py_TYPE(self)->tp_free((PyObject *)self);
}

/* Whether records of the class can be made of such fields. */
static int fits_class(const Shape *self)
{
    if (self->cls == NULL) {
        return self->names == NULL && self->listed == NULL && self->size == 1 && self->kinds[0] != '(';
    }
    int by_place = PyType_IsSubtype(self->cls, &PyTuple_Type);
    if (self->listed != NULL) {
        return self->names == NULL && self->fixed != NULL && !by_place;
    }
    return self->names == NULL ? by_place : !by_place && PyTuple_GET_SIZE(self->names) == self->size;
}

/* The tuple of triples that ``fixed`` is; NULL if it is something else. */
static PyObject *triples(PyObject *fixed)
{
    int fits = PyTuple_CheckExact(fixed);
    for (Py_ssize_t i = 0; fits && i < PyTuple_GET_SIZE(fixed); i++) {
        PyObject *each = PyTuple_GET_ITEM(fixed, i);
        fits = PyTuple_CheckExact(each) && PyTuple_GET_SIZE(each) == 3;
    }
    return fits ? Py_NewRef(fixed) : NULL;
}

/* Shape(cls | None, names | None, kinds, listed=None, fixed=()) */
static PyObject *new_shape(PyTypeObject *type, PyObject *args, PyObject *named)
{
    PyObject *cls, *names, *text, *listed = Py_None, *fixed = NULL;
    static char *words[] = {"cls", "names", "kinds", "listed", "fixed", NULL};
    if (!PyArg_ParseTupleAndKeywords(args, named, "OOU|OO", words, &cls, &names, &text, &listed, &fixed)) {
        return NULL;
    }
    const char *kinds = PyUnicode_AsUTF8(text);
    if (kinds == NULL) {
        return NULL;
    }
    Shape *self = (Shape *)type->tp_alloc(type, 0);
    if (self == NULL) {
        return NULL;
    }
    self->cls = PyType_Check(cls) ? (PyTypeObject *)Py_NewRef(cls) : NULL;
    self->names = PyTuple_CheckExact(names) ? Py_NewRef(names) : NULL;
    self->listed = PyUnicode_CheckExact(listed) ? Py_NewRef(listed) : NULL;
    self->fixed = fixed == NULL ? PyTuple_New(0) : triples(fixed);
    self->text = Py_NewRef(text);
    self->kinds = kinds;
    self->size = count_kinds(kinds);
    int fits = (self->cls != NULL || cls == Py_None) && (self->names != NULL || names == Py_None);
    fits = fits && (self->listed != NULL || listed == Py_None) && self->fixed != NULL;
    if (!fits || self->size < 0 || !fits_class(self)) {
        PyErr_Format(PyExc_ValueError, "no shape: the class %R, the names %R, the kinds %R", cls, names, text);
        Py_CLEAR(self);
    }
    return (PyObject *)self;
}

static PyMemberDef shape_members[] = {
    {"cls", T_OBJECT, offsetof(Shape, cls), READONLY, NULL},
    {"names", T_OBJECT, offsetof(Shape, names), READONLY, NULL},
    {"kinds", T_OBJECT, offsetof(Shape, text), READONLY, NULL},
    {"listed", T_OBJECT, offsetof(Shape, listed), READONLY, NULL},
    {"fixed", T_OBJECT, offsetof(Shape, fixed), READONLY, NULL},
    {NULL, 0, 0, 0, NULL},
};

PyTypeObject Shape_Type = {
    PyVarObject_HEAD_INIT(NULL, 0)
    .tp_name = "riverrun.loops._compiled.Shape",
    .tp_basicsize = sizeof(Shape),
    .tp_flags = Py_TPFLAGS_DEFAULT,
    .tp_new = new_shape,
    .tp_dealloc = (destructor)dealloc_shape,
    .tp_members = shape_members,
};
