#!/bin/sh
# Starts what the pod is for: "executor" is what Spark on Kubernetes asks for, anything else is a command.
set -eu

if [ "${1:-}" = "executor" ]; then
    shift
    # Spark hands the JVM's options over one by one.
    options=$(env | sed -n 's/^SPARK_JAVA_OPT_[0-9]*=//p')
    # shellcheck disable=SC2086
    exec java $options "-Xms${SPARK_EXECUTOR_MEMORY}" "-Xmx${SPARK_EXECUTOR_MEMORY}" \
        -cp "${SPARK_HOME}/jars/*" \
        org.apache.spark.scheduler.cluster.k8s.KubernetesExecutorBackend \
        --driver-url "${SPARK_DRIVER_URL}" --executor-id "${SPARK_EXECUTOR_ID}" \
        --cores "${SPARK_EXECUTOR_CORES}" --app-id "${SPARK_APPLICATION_ID}" \
        --hostname "${SPARK_EXECUTOR_POD_IP}" --resourceProfileId "${SPARK_RESOURCE_PROFILE_ID}" \
        --podName "${SPARK_EXECUTOR_POD_NAME}"
fi
exec "$@"
