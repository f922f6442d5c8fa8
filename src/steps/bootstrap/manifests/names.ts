/** The namespace of the controller, and the label by which its objects are found. */
export const namespace = 'assisted-installer';

/** Name of the job, its pods' label, its service account and its role. */
export const controllerName = 'assisted-installer-controller';

/** The ConfigMap from which the controller takes its settings. */
export const configMapName = 'assisted-installer-controller-config';

/** The Secret with the token of the inventory service. */
export const secretName = 'assisted-installer-controller-secret';

/** The key of the token in the Secret. */
export const tokenKey = 'pull-secret-token';

/** The label of what belongs to the controller. */
export const labels = { app: controllerName } as const;
