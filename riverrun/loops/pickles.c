/* Runs of plain values as pickles: what the pickle module reads, written and read without its memo and frames.

   A run is one list: PROTO 5, EMPTY_LIST, MARK, the values, APPENDS, STOP. Whatever is not plain (None, booleans,
   whole numbers of 64 bits, floats, text, bytes and tuples of these) is left to the pickle module.

   A run of values of one shape has a mark before it, and each tuple in it one of its own: it is known where a part
   ends before all of them are read. */

#include "compiled.h"

#include <string.h>

#define SHAPED 2 /* the mark */

static const char HEAD[] = {(char)0x80, 5, ']', '('};

static int make_room(Output *out, Py_ssize_t more)
{
    Py_ssize_t used = out->at - PyBytes_AS_STRING(out->bytes);
    Py_ssize_t size = 2 * PyBytes_GET_SIZE(out->bytes);
    if (size < used + more) {
        size = used + more;
    }
    if (_PyBytes_Resize(&out->bytes, size) < 0) {
        return FAILED;
    }
    out->at = PyBytes_AS_STRING(out->bytes) + used;
    out->end = PyBytes_AS_STRING(out->bytes) + size;
    return DONE;
}

static inline int room(Output *out, Py_ssize_t more)
{
    return out->end - out->at >= more ? DONE : make_room(out, more);
}

int put_byte(Output *out, char byte)
{
    if (room(out, 1) != DONE) {
        return FAILED;
    }
    *out->at++ = byte;
    return DONE;
}

static inline void put_little(Output *out, uint64_t number, int bytes)
{
    for (int i = 0; i < bytes; i++) {
        *out->at++ = (char)(number >> (8 * i));
    }
}

static int put_long(Output *out, PyObject *value)
{
    long long number;
    if (!is_short(value, &number)) {
        int overflow;
        number = PyLong_AsLongLongAndOverflow(value, &overflow);
        if (overflow) {
            return LEFT;
        }
    }
    if (room(out, 10) != DONE) {
        return FAILED;
    }
    if (0 <= number && number <= 0xff) {
        *out->at++ = 'K';
        put_little(out, (uint64_t)number, 1);
    } else if (0 <= number && number <= 0xffff) {
        *out->at++ = 'M';
        put_little(out, (uint64_t)number, 2);
    } else if (INT32_MIN <= number && number <= INT32_MAX) {
        *out->at++ = 'J';
        put_little(out, (uint64_t)number, 4);
    } else {
        int bytes = 5;
        while (bytes < 8 && (number >> (8 * bytes - 1)) != 0 && (number >> (8 * bytes - 1)) != -1) {
            bytes++;
        }
        *out->at++ = (char)0x8a;
        *out->at++ = (char)bytes;
        put_little(out, (uint64_t)number, bytes);
    }
    return DONE;
}

/* Text or bytes: short ones have a length of one byte, others of four. */
static int put_sized(Output *out, char brief, char other, const char *from, Py_ssize_t size)
{
    if (size >= out->large || (uint64_t)size > UINT32_MAX) {
        return LEFT;
    }
    if (room(out, size + 5) != DONE) {
        return FAILED;
    }
    *out->at++ = size <= 0xff ? brief : other;
    put_little(out, (uint64_t)size, size <= 0xff ? 1 : 4);
    memcpy(out->at, from, (size_t)size);
    out->at += size;
    return DONE;
}

static int put_text(Output *out, PyObject *value)
{
    if (PyUnicode_GET_LENGTH(value) >= out->large) {
        return LEFT; /* before its bytes are made, which it would keep */
    }
    Py_ssize_t size;
    const char *text = PyUnicode_AsUTF8AndSize(value, &size);
    if (text == NULL) { /* a lone surrogate, which the pickle module can write */
        PyErr_Clear();
        return LEFT;
    }
    return put_sized(out, (char)0x8c, 'X', text, size);
}

static inline int put_tuple(Output *out, PyObject *value, int depth)
{
    static const char ENDS[] = {')', (char)0x85, (char)0x86, (char)0x87, 't'};
    Py_ssize_t size = PyTuple_GET_SIZE(value);
    if (depth == DEEPEST) {
        return LEFT;
    }
    if (room(out, 2) != DONE) {
        return FAILED;
    }
    int is_marked = size > 3 || out->shape != NULL;
    if (is_marked) {
        *out->at++ = '(';
    }
    for (Py_ssize_t i = 0; i < size; i++) {
        int how = put_plain(out, PyTuple_GET_ITEM(value, i), depth + 1);
        if (how != DONE) {
            return how;
        }
    }
    if (room(out, 1) != DONE) {
        return FAILED;
    }
    *out->at++ = ENDS[is_marked ? 4 : size];
    return DONE;
}

int put_plain(Output *out, PyObject *value, int depth)
{
    PyTypeObject *type = Py_TYPE(value);
    if (type == &PyLong_Type) {
        return put_long(out, value);
    }
    if (type == &PyTuple_Type) {
        return put_tuple(out, value, depth);
    }
    if (type == &PyUnicode_Type) {
        return put_text(out, value);
    }
    if (type == &PyBytes_Type) {
        return put_sized(out, 'C', 'B', PyBytes_AS_STRING(value), PyBytes_GET_SIZE(value));
    }
    if (room(out, 9) != DONE) {
        return FAILED;
    }
    if (type == &PyFloat_Type) {
        *out->at++ = 'G';
        int failed = PyFloat_Pack8(PyFloat_AS_DOUBLE(value), out->at, 0);
        out->at += 8;
        return failed ? FAILED : DONE;
    }
    if (value == Py_None || value == Py_True || value == Py_False) {
        *out->at++ = value == Py_None ? 'N' : value == Py_True ? (char)0x88 : (char)0x89;
        return DONE;
    }
    return LEFT;
}

int begin_run(Output *out, const Shape *shape, Py_ssize_t size, Py_ssize_t large)
{
    out->shape = shape;
    out->large = large;
    out->bytes = PyBytes_FromStringAndSize(NULL, size < 16 ? 16 : size);
    if (out->bytes == NULL) {
        return FAILED;
    }
    out->at = PyBytes_AS_STRING(out->bytes);
    out->end = out->at + PyBytes_GET_SIZE(out->bytes);
    if (shape != NULL) {
        *out->at++ = SHAPED;
    }
    memcpy(out->at, HEAD, sizeof HEAD);
    out->at += sizeof HEAD;
    return DONE;
}

int put_value(Output *out, PyObject *value)
{
    Py_ssize_t before = out->at - PyBytes_AS_STRING(out->bytes);
    int how = out->shape == NULL ? put_plain(out, value, 0) : put_shaped(out, value);
    if (how == LEFT) {
        out->at = PyBytes_AS_STRING(out->bytes) + before; /* of its parts, too */
    }
    return how;
}

PyObject *end_run(Output *out)
{
    PyObject *run = NULL;
    if (out->bytes == NULL) {
        PyErr_NoMemory(); /* there was none for a value of the run */
    } else if (room(out, 2) == DONE) {
        *out->at++ = 'e';
        *out->at++ = '.';
        if (_PyBytes_Resize(&out->bytes, out->at - PyBytes_AS_STRING(out->bytes)) == 0) {
            run = out->bytes;
        }
    }
    *out = (Output){.bytes = NULL};
    return run;
}

static PyObject *encoded(PyObject *values, const Shape *shape)
{
    if (!PyList_CheckExact(values)) {
        Py_RETURN_NONE;
    }
    Output out;
    if (begin_run(&out, shape, 16 + 16 * PyList_GET_SIZE(values), PY_SSIZE_T_MAX) != DONE) {
        return NULL;
    }
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(values); i++) {
        int how = put_value(&out, PyList_GET_ITEM(values, i));
        if (how != DONE) {
            Py_XDECREF(out.bytes); /* gone already if there was no memory for more */
            return how == FAILED ? NULL : Py_NewRef(Py_None);
        }
    }
    return end_run(&out);
}

/* encode(values) -> bytes | None */
PyObject *encode(PyObject *module, PyObject *values)
{
    (void)module;
    return encoded(values, NULL);
}

static int takes_shape(const char *name, PyObject *const *args, Py_ssize_t count)
{
    if (!takes(name, 2, count)) {
        return 0;
    }
    if (!PyObject_TypeCheck(args[1], &Shape_Type)) {
        PyErr_Format(PyExc_TypeError, "%s takes a shape, got %R", name, args[1]);
        return 0;
    }
    return 1;
}

/* encode_shaped(values, shape) -> bytes | None */
PyObject *encode_shaped(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    (void)module;
    return takes_shape("encode_shaped", args, count) ? encoded(args[0], (const Shape *)args[1]) : NULL;
}

typedef struct {
    const unsigned char *at;
    const unsigned char *end;
    PyObject **stack;
    Py_ssize_t top;
    Py_ssize_t room;
    Py_ssize_t marks[DEEPEST + 1];
    int mark; /* how many marks are open */
} Input;

static inline uint64_t little(const unsigned char *from, int bytes)
{
    uint64_t number = 0;
    for (int i = 0; i < bytes; i++) {
        number |= (uint64_t)from[i] << (8 * i);
    }
    return number;
}

/* The bytes that an argument of so many takes; NULL where there are fewer. */
static inline const unsigned char *taken(Input *in, uint64_t bytes)
{
    if ((uint64_t)(in->end - in->at) < bytes) {
        return NULL;
    }
    const unsigned char *from = in->at;
    in->at += bytes;
    return from;
}

static int push(Input *in, PyObject *value)
{
    if (value == NULL) {
        return FAILED;
    }
    if (in->top == in->room) {
        Py_ssize_t more = 2 * in->room;
        PyObject **stack = PyMem_Realloc(in->stack, (size_t)more * sizeof *stack);
        if (stack == NULL) {
            Py_DECREF(value);
            PyErr_NoMemory();
            return FAILED;
        }
        in->stack = stack;
        in->room = more;
    }
    in->stack[in->top++] = value;
    return DONE;
}

static int push_long(Input *in, int bytes)
{
    const unsigned char *from = taken(in, (uint64_t)bytes);
    if (from == NULL) {
        return LEFT;
    }
    uint64_t number = little(from, bytes);
    if (bytes > 2 && bytes < 8 && number >> (8 * bytes - 1)) {
        number |= ~(uint64_t)0 << (8 * bytes);
    }
    return push(in, PyLong_FromLongLong((long long)number));
}

static int push_wide(Input *in)
{
    const unsigned char *size = taken(in, 1);
    return size == NULL || *size < 3 || *size > 8 ? LEFT : push_long(in, *size);
}

static int push_float(Input *in)
{
    const unsigned char *from = taken(in, 8);
    return from == NULL ? LEFT : push(in, PyFloat_FromDouble(PyFloat_Unpack8((const char *)from, 0)));
}

static int push_sized(Input *in, int length, int text)
{
    const unsigned char *given = taken(in, (uint64_t)length);
    if (given == NULL) {
        return LEFT;
    }
    uint64_t size = little(given, length);
    const char *from = (const char *)taken(in, size);
    if (from == NULL) {
        return LEFT;
    }
    return push(in, text ? PyUnicode_DecodeUTF8(from, (Py_ssize_t)size, "surrogatepass")
                         : PyBytes_FromStringAndSize(from, (Py_ssize_t)size));
}

static int push_tuple(Input *in, Py_ssize_t size)
{
    Py_ssize_t below = in->mark == 0 ? 0 : in->marks[in->mark - 1];
    if (in->top - below < size) {
        return LEFT;
    }
    PyObject *tuple = PyTuple_New(size);
    if (tuple == NULL) {
        return FAILED;
    }
    in->top -= size;
    for (Py_ssize_t i = 0; i < size; i++) {
        PyTuple_SET_ITEM(tuple, i, in->stack[in->top + i]);
    }
    if (size > 0) {
        /* It holds plain values only, so it is in no cycle: the collector would find that out, and do the same. */
        PyObject_GC_UnTrack(tuple);
    }
    return push(in, tuple);
}

static int push_next(Input *in)
{
    unsigned char code = *in->at++;
    switch (code) {
    case 'K': return push_long(in, 1);
    case 'M': return push_long(in, 2);
    case 'J': return push_long(in, 4);
    case 0x8a: return push_wide(in);
    case 'G': return push_float(in);
    case 0x8c: return push_sized(in, 1, 1);
    case 'X': return push_sized(in, 4, 1);
    case 'C': return push_sized(in, 1, 0);
    case 'B': return push_sized(in, 4, 0);
    case 'N': return push(in, Py_NewRef(Py_None));
    case 0x88: return push(in, Py_NewRef(Py_True));
    case 0x89: return push(in, Py_NewRef(Py_False));
    case ')': return push_tuple(in, 0);
    case 0x85: case 0x86: case 0x87: return push_tuple(in, code - 0x84);
    case '(':
        if (in->mark > DEEPEST) {
            return LEFT;
        }
        in->marks[in->mark++] = in->top;
        return DONE;
    case 't':
        if (in->mark == 0) {
            return LEFT;
        }
        in->mark--;
        Py_ssize_t size = in->top - in->marks[in->mark];
        return push_tuple(in, size);
    default: return LEFT;
    }
}

/* One value with all its parts, or none where they end. */
static int push_part(Input *in)
{
    int marks = in->mark;
    do {
        int how = in->at < in->end ? push_next(in) : LEFT;
        if (how != DONE) {
            return how;
        }
    } while (in->mark > marks);
    return DONE;
}

/* A record of a class: its parts, between the codes of a tuple. */
static int push_record(Input *in, const Shape *shape)
{
    Py_ssize_t below = in->top;
    if (*in->at++ != '(') {
        return LEFT;
    }
    for (Py_ssize_t i = 0; i < shape->size; i++) {
        int how = push_part(in);
        if (how != DONE) {
            return how;
        }
        if (in->top != below + i + 1) {
            return LEFT; /* that was no value */
        }
    }
    if (in->at == in->end || *in->at++ != 't') {
        return LEFT;
    }
    in->top = below;
    return push(in, made_of(shape, in->stack + below));
}

/* All values up to the end of the list, on the stack; ``shape`` is that of a class, or NULL. */
static int read_all(Input *in, const Shape *shape)
{
    while (in->at < in->end) {
        if (*in->at == 'e') {
            return in->mark == 0 && in->end - in->at == 2 && in->at[1] == '.' ? DONE : LEFT;
        }
        int how = shape == NULL ? push_next(in) : push_record(in, shape);
        if (how != DONE) {
            return how;
        }
    }
    return LEFT;
}

static PyObject *listed(Input *in)
{
    PyObject *list = PyList_New(in->top);
    if (list != NULL) {
        for (Py_ssize_t i = 0; i < in->top; i++) {
            PyList_SET_ITEM(list, i, in->stack[i]);
        }
        in->top = 0;
    }
    return list;
}

static PyObject *decoded(Input *in, const Shape *shape)
{
    if (in->end - in->at < (Py_ssize_t)sizeof HEAD || memcmp(in->at, HEAD, sizeof HEAD) != 0) {
        return Py_NewRef(Py_None);
    }
    in->at += sizeof HEAD;
    in->stack = PyMem_Malloc((size_t)in->room * sizeof *in->stack);
    if (in->stack == NULL) {
        return PyErr_NoMemory();
    }
    int how = read_all(in, shape);
    PyObject *found = how == DONE ? listed(in) : how == LEFT ? Py_NewRef(Py_None) : NULL;
    while (in->top > 0) {
        Py_DECREF(in->stack[--in->top]);
    }
    PyMem_Free(in->stack);
    return found;
}

/* What is read in a buffer after so many bytes of a mark. */
static PyObject *decoded_after(PyObject *data, int mark, const Shape *shape)
{
    Py_buffer buffer;
    if (PyObject_GetBuffer(data, &buffer, PyBUF_SIMPLE) < 0) {
        return NULL;
    }
    Input in = {.at = buffer.buf, .room = 2100};
    in.end = in.at + buffer.len;
    int fits = mark == 0 || (buffer.len > 0 && *in.at == SHAPED);
    in.at += fits ? mark : 0;
    PyObject *found = fits ? decoded(&in, shape) : Py_NewRef(Py_None);
    PyBuffer_Release(&buffer);
    return found;
}

/* decode(data) -> list | None */
PyObject *decode(PyObject *module, PyObject *data)
{
    (void)module;
    return decoded_after(data, 0, NULL);
}

/* decode_shaped(data, shape) -> list | None */
PyObject *decode_shaped(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    (void)module;
    if (!takes_shape("decode_shaped", args, count)) {
        return NULL;
    }
    const Shape *shape = (const Shape *)args[1];
    int has_class = shape->cls != NULL && shape->cls != &PyTuple_Type;
    return decoded_after(args[0], 1, has_class ? shape : NULL);
}
