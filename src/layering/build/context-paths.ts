/** The MachineConfig within a build context: JSON, gzip, base64, as the operator's builder gets it. */
export const machineConfigFile = 'machineconfig/machineconfig.json.gz';

/** Certificates that the machines trust beside those of the system; empty when there are none. */
export const caBundleFile = 'openshift-config-user-ca-bundle.crt';

/** The Containerfile within a build context. */
export const containerfileFile = 'Containerfile';
