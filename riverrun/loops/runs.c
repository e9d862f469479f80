/* Loops over the records of a run: see pure.py for what each does. */

#include "compiled.h"

PyObject *at_record = NULL;

PyObject *failed_at(PyObject *value)
{
    if (value == NULL || at_record == NULL) {
        return NULL;
    }
    PyObject *type, *error, *traceback;
    PyErr_Fetch(&type, &error, &traceback);
    PyErr_NormalizeException(&type, &error, &traceback);
    if (traceback != NULL) {
        PyException_SetTraceback(error, traceback);
    }
    PyObject *args[] = {NULL, error, value};
    PyObject *nothing = PyObject_Vectorcall(at_record, args + 1, 2 | PY_VECTORCALL_ARGUMENTS_OFFSET, NULL);
    Py_XDECREF(nothing); /* it raises */
    Py_XDECREF(type);
    Py_XDECREF(error);
    Py_XDECREF(traceback);
    return NULL;
}

void release(Run *run)
{
    for (int i = 0; i < 3; i++) {
        Py_CLEAR(run->columns[i]);
    }
}

int take_up(Run *run, PyObject *keys, PyObject *values, PyObject *times)
{
    PyObject *given[] = {keys, values, times};
    *run = (Run){.size = -1};
    for (int i = 0; i < 3; i++) {
        if (given[i] == NULL) {
            continue;
        }
        run->columns[i] = PySequence_Fast(given[i], "the columns of a run are sequences");
        if (run->columns[i] == NULL) {
            release(run);
            return 0;
        }
        Py_ssize_t size = PySequence_Fast_GET_SIZE(run->columns[i]);
        if (run->size >= 0 && run->size != size) {
            PyErr_Format(PyExc_ValueError, "columns of %zd and %zd records", run->size, size);
            release(run);
            return 0;
        }
        run->size = size;
    }
    return 1;
}

/* items(values, index) -> list | None */
PyObject *items(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    (void)module;
    if (!takes("items", 2, count)) {
        return NULL;
    }
    PyObject *values = args[0];
    Py_ssize_t index = PyLong_AsSsize_t(args[1]);
    if (index == -1 && PyErr_Occurred()) {
        return NULL;
    }
    if (index < 0 || !PyList_CheckExact(values)) {
        Py_RETURN_NONE;
    }
    Py_ssize_t size = PyList_GET_SIZE(values);
    PyObject *found = PyList_New(size);
    if (found == NULL) {
        return NULL;
    }
    for (Py_ssize_t i = 0; i < size; i++) {
        PyObject *value = PyList_GET_ITEM(values, i);
        if (!PyTuple_CheckExact(value) || PyTuple_GET_SIZE(value) <= index) {
            Py_DECREF(found);
            Py_RETURN_NONE;
        }
        PyList_SET_ITEM(found, i, Py_NewRef(PyTuple_GET_ITEM(value, index)));
    }
    return found;
}

/* The group of a whole number: the stable hash of riverrun/serde/key_hash.py, of which Python's is a part. */
static inline uint64_t group_of(const Owners *owners, Py_hash_t hash)
{
    uint64_t x = (uint64_t)hash + 3 * UINT64_C(0x9E3779B97F4A7C15);
    x = (x ^ (x >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94D049BB133111EB);
    x ^= x >> 31;
    uint64_t groups = owners->groups;
    return (groups & (groups - 1)) == 0 ? x & (groups - 1) : x % groups;
}

Py_ssize_t owner_of(const Owners *owners, PyObject *key)
{
    if (owners->by_group != NULL && PyLong_CheckExact(key)) {
        long long number;
        /* A number of one digit is its own hash, but for the one that stands for an error. */
        Py_hash_t hash = is_short(key, &number) && number != -1 ? (Py_hash_t)number : PyObject_Hash(key);
        return owners->by_group[group_of(owners, hash)];
    }
    PyObject *owner = PyDict_GetItemWithError(owners->by_key, key);
    if (owner != NULL) {
        return PyLong_AsSsize_t(owner);
    }
    if (PyErr_Occurred()) {
        return -1;
    }
    owner = PyObject_GetItem(owners->by_key, key);
    if (owner == NULL) {
        return -1;
    }
    Py_ssize_t place = PyLong_AsSsize_t(owner);
    Py_DECREF(owner);
    return place;
}

static int append_to(PyObject *sinks, Py_ssize_t owner, PyObject *item)
{
    if (owner < 0 || owner >= PyTuple_GET_SIZE(sinks)) {
        PyErr_Format(PyExc_IndexError, "owner %zd of %zd", owner, PyTuple_GET_SIZE(sinks));
        return -1;
    }
    return PyList_Append(PyTuple_GET_ITEM(sinks, owner), item);
}

static int share_one(const Owners *owners, Run *run, Py_ssize_t i, PyObject *sinks, PyObject *time_sinks)
{
    int timed = run->columns[TIMES] != NULL;
    PyObject *key = at(run, KEYS, i), *value = at(run, VALUES, i), *time = timed ? at(run, TIMES, i) : NULL;
    int failed = key == NULL || value == NULL || (timed && time == NULL);
    if (!failed) {
        Py_ssize_t owner = owner_of(owners, key);
        failed = (owner == -1 && PyErr_Occurred()) || append_to(sinks, owner, value) < 0 ||
                 (timed && append_to(time_sinks, owner, time) < 0);
    }
    Py_XDECREF(time);
    Py_XDECREF(value);
    Py_XDECREF(key);
    return failed;
}

int take_up_groups(Owners *owners, PyObject *by_group)
{
    if (by_group == Py_None) {
        return 1;
    }
    if (!PyBytes_CheckExact(by_group) || PyBytes_GET_SIZE(by_group) < 4 || PyBytes_GET_SIZE(by_group) % 4) {
        PyErr_SetString(PyExc_TypeError, "owners by group are 32-bit numbers in bytes");
        return 0;
    }
#if SIZEOF_VOID_P == 8
    /* Elsewhere Python's hash of a whole number is not the one that groups are made of. */
    owners->by_group = (const int32_t *)(const void *)PyBytes_AS_STRING(by_group);
    owners->groups = (uint64_t)PyBytes_GET_SIZE(by_group) / 4;
#endif
    return 1;
}

static int are_lists(PyObject *sinks)
{
    int lists = PyTuple_CheckExact(sinks);
    for (Py_ssize_t i = 0; lists && i < PyTuple_GET_SIZE(sinks); i++) {
        lists = PyList_CheckExact(PyTuple_GET_ITEM(sinks, i));
    }
    return lists;
}

/* share(owners, keys, values, sinks[, times, time_sinks, by_group]) */
PyObject *share(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    (void)module;
    if (count != 4 && !takes("share", 7, count)) {
        return NULL;
    }
    Owners owners = {.by_key = args[0]};
    PyObject *sinks = args[3], *time_sinks = count == 7 ? args[5] : NULL;
    if (!PyDict_Check(args[0]) || !are_lists(sinks) || (time_sinks != NULL && !are_lists(time_sinks))) {
        PyErr_SetString(PyExc_TypeError, "share takes a dict of owners and tuples of lists");
        return NULL;
    }
    PyObject *times = count == 7 && args[4] != Py_None ? args[4] : NULL;
    Run run;
    if ((count == 7 && !take_up_groups(&owners, args[6])) || !take_up(&run, args[1], args[2], times)) {
        return NULL;
    }
    int failed = 0;
    for (Py_ssize_t i = 0; !failed && i < run.size; i++) {
        failed = share_one(&owners, &run, i, sinks, time_sinks);
    }
    release(&run);
    return failed ? NULL : Py_NewRef(Py_None);
}

/* Put ``after`` at ``key``, or remove what is there if it is None. */
static int keep(PyObject *data, PyObject *key, PyObject *after)
{
    if (after != Py_None) {
        keep_quiet(after);
        return PyDict_SetItem(data, key, after);
    }
    PyObject *there = PyDict_GetItemWithError(data, key);
    if (there == NULL) {
        return PyErr_Occurred() ? -1 : 0;
    }
    return PyDict_DelItem(data, key);
}

static PyObject *call_two(PyObject *function, PyObject *first, PyObject *second)
{
    PyObject *args[] = {NULL, first, second};
    return PyObject_Vectorcall(function, args + 1, 2 | PY_VECTORCALL_ARGUMENTS_OFFSET, NULL);
}

static int fold_one(PyObject *data, PyObject *key, PyObject *value, PyObject *function, PyObject *out)
{
    PyObject *before = Py_XNewRef(PyDict_GetItemWithError(data, key));
    if (before == NULL && PyErr_Occurred()) {
        return -1;
    }
    PyObject *after = before == NULL ? Py_NewRef(value) : call_two(function, before, value);
    Py_XDECREF(before);
    int failed = after == NULL || keep(data, key, after) < 0 || PyList_Append(out, after) < 0;
    Py_XDECREF(after);
    return failed ? -1 : 0;
}

/* fold(data, keys, values, function) -> list */
PyObject *fold(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    (void)module;
    if (!takes("fold", 4, count)) {
        return NULL;
    }
    PyObject *data = args[0], *function = args[3];
    if (!PyDict_Check(data)) {
        PyErr_SetString(PyExc_TypeError, "fold takes a dict of entries");
        return NULL;
    }
    Run run;
    if (!take_up(&run, args[1], args[2], NULL)) {
        return NULL;
    }
    PyObject *out = PyList_New(0);
    for (Py_ssize_t i = 0; out != NULL && i < run.size; i++) {
        PyObject *key = at(&run, KEYS, i), *value = at(&run, VALUES, i);
        if (key == NULL || value == NULL || fold_one(data, key, value, function, out) < 0) {
            failed_at(value);
            Py_CLEAR(out);
        }
        Py_XDECREF(value);
        Py_XDECREF(key);
    }
    release(&run);
    return out;
}

/* How a value is folded in. */
typedef struct {
    PyObject *entries;
    PyObject *add;
    PyObject *create;
    PyObject *fresh;
} Folding;

/* What a key holds, or what ``create`` gives, the key then being fresh; a new reference. */
static PyObject *held_by(Folding *folding, PyObject *key)
{
    PyObject *held = Py_XNewRef(PyDict_GetItemWithError(folding->entries, key));
    if (held != NULL || PyErr_Occurred()) {
        return held;
    }
    held = PyObject_CallNoArgs(folding->create);
    if (held != NULL && PyList_Append(folding->fresh, key) < 0) {
        Py_CLEAR(held);
    }
    return held;
}

static int add_one(Folding *folding, PyObject *key, PyObject *value)
{
    PyObject *held = held_by(folding, key);
    PyObject *after = held == NULL ? NULL : call_two(folding->add, value, held);
    Py_XDECREF(held);
    int failed = after == NULL || keep(folding->entries, key, after) < 0;
    Py_XDECREF(after);
    return failed ? -1 : 0;
}

/* fold_new(entries, keys, values, add, create, fresh) */
PyObject *fold_new(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    (void)module;
    if (!takes("fold_new", 6, count)) {
        return NULL;
    }
    Folding folding = {.entries = args[0], .add = args[3], .create = args[4], .fresh = args[5]};
    if (!PyDict_Check(folding.entries) || !PyList_CheckExact(folding.fresh)) {
        PyErr_SetString(PyExc_TypeError, "fold_new takes a dict of entries and a list of keys");
        return NULL;
    }
    Run run;
    if (!take_up(&run, args[1], args[2], NULL)) {
        return NULL;
    }
    int failed = 0;
    for (Py_ssize_t i = 0; !failed && i < run.size; i++) {
        PyObject *key = at(&run, KEYS, i), *value = at(&run, VALUES, i);
        failed = key == NULL || value == NULL || add_one(&folding, key, value) < 0;
        if (failed) {
            failed_at(value);
        }
        Py_XDECREF(value);
        Py_XDECREF(key);
    }
    release(&run);
    return failed ? NULL : Py_NewRef(Py_None);
}

static int put_item(Gathering *to, PyObject *item, PyObject *time)
{
    if (PyTuple_CheckExact(item) && PyTuple_GET_SIZE(item) == 2 &&
        (PyObject *)Py_TYPE(PyTuple_GET_ITEM(item, 0)) == to->tag) {
        PyObject *nothing = call_two(to->side, item, time);
        Py_XDECREF(nothing);
        return nothing == NULL ? -1 : 0;
    }
    if (PyList_Append(to->out, item) < 0) {
        return -1;
    }
    return to->out_times == NULL ? 0 : PyList_Append(to->out_times, time);
}

int put_made(Gathering *to, PyObject *made, PyObject *time)
{
    if (made == Py_None) {
        return 0;
    }
    PyObject *each = PyObject_GetIter(made);
    if (each == NULL) {
        return -1;
    }
    PyObject *item;
    while ((item = PyIter_Next(each)) != NULL) {
        int failed = put_item(to, item, time);
        Py_DECREF(item);
        if (failed) {
            break;
        }
    }
    Py_DECREF(each);
    return PyErr_Occurred() ? -1 : 0;
}

static int gather_one(Gathering *to, PyObject *key, PyObject *value, PyObject *time)
{
    Py_XSETREF(to->holder->key, Py_NewRef(key));
    if (to->out_times != NULL) {
        Py_XSETREF(((Moment *)to->context)->time, Py_NewRef(time));
    }
    PyObject *made = call_two(to->function, value, to->context);
    int failed = made == NULL || put_made(to, made, time) < 0;
    Py_XDECREF(made);
    return failed ? -1 : 0;
}

static int can_gather(Gathering *to)
{
    int fits = PyObject_TypeCheck((PyObject *)to->holder, &KeyHolder_Type) && PyList_CheckExact(to->out);
    if (to->out_times != NULL) {
        fits = fits && PyObject_TypeCheck(to->context, &Moment_Type) && PyList_CheckExact(to->out_times);
    }
    if (!fits) {
        PyErr_SetString(PyExc_TypeError, "gather takes a Moment, a KeyHolder and lists");
    }
    return fits;
}

static PyObject *gathered(PyObject *const *args, PyObject *times, PyObject *out_times)
{
    Gathering to = {args[0], args[3], (KeyHolder *)args[4], args[5], args[6], args[7], out_times};
    Run run;
    if (!can_gather(&to) || !take_up(&run, args[2], args[1], times)) {
        return NULL;
    }
    int failed = 0;
    for (Py_ssize_t i = 0; !failed && i < run.size; i++) {
        PyObject *key = at(&run, KEYS, i), *value = at(&run, VALUES, i);
        PyObject *time = times == NULL ? Py_NewRef(Py_None) : at(&run, TIMES, i);
        failed = key == NULL || value == NULL || time == NULL || gather_one(&to, key, value, time) < 0;
        if (failed) {
            failed_at(value);
        }
        Py_XDECREF(time);
        Py_XDECREF(value);
        Py_XDECREF(key);
    }
    release(&run);
    return failed ? NULL : Py_NewRef(Py_None);
}

/* gather(function, values, keys, context, holder, out, tag, side) */
PyObject *gather(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    (void)module;
    return takes("gather", 8, count) ? gathered(args, NULL, NULL) : NULL;
}

/* gather_timed(function, values, keys, context, holder, out, tag, side, times, out_times) */
PyObject *gather_timed(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    (void)module;
    return takes("gather_timed", 10, count) ? gathered(args, args[8], args[9]) : NULL;
}
