import { failuresOf, type FailureTable } from '../../model/failure.ts';

/** Failures of talking to the inventory service. */
export const inventoryFailures = {
  'inventory.denied': {
    kind: 'remote',
    isFinal: true,
    title: 'The inventory service does not accept the token',
    hint: 'check PULL_SECRET_TOKEN; the service must have issued it for this infra-env',
  },
  'inventory.not-found': {
    kind: 'remote',
    isFinal: true,
    title: 'The inventory service does not know what was asked for',
    hint: 'check the ids of cluster, infra-env and host, and that the host is bound to the cluster; a service from before August 2021 needs --service.api v1',
  },
  'inventory.refused': {
    kind: 'remote',
    isFinal: true,
    title: 'The inventory service refuses this in the present state of the host or cluster',
    hint: 'look at the state of host and cluster in the service; the installation may be cancelled',
  },
  'inventory.rejected': {
    kind: 'remote',
    isFinal: true,
    title: 'The inventory service finds the request malformed',
    hint: 'check the ids; a service of another age may need another service.api',
  },
  'inventory.unreachable': {
    kind: 'remote',
    title: 'The inventory service cannot be reached, or does not answer well',
    hint: 'check the URL, name resolution, routes and proxies of the host, and the service itself',
  },
  'inventory.untrusted': {
    kind: 'remote',
    isFinal: true,
    title: 'The certificate of the inventory service is not trusted',
    hint: 'give its authority with --cacert, or check the clock of the host',
  },
  'inventory.unreadable': {
    kind: 'remote',
    isFinal: true,
    title: 'The inventory service answered what is not understood',
    hint: 'check that the URL leads to the inventory service and not to a proxy or login page',
  },
} as const satisfies FailureTable;

/** Builds an error of the inventory service. */
export const inventoryFailure = failuresOf(inventoryFailures);

/** Failures of reading URLs. */
export const webFailures = {
  'web.unreachable': {
    kind: 'remote',
    title: 'An address cannot be reached, or does not answer well',
    hint: 'check the URL, name resolution, routes and proxies of the host',
  },
  'web.refused': {
    kind: 'remote',
    isFinal: true,
    title: 'An address answers that it does not give what was asked for',
    hint: 'check the URL and who may read it',
  },
  'web.untrusted': {
    kind: 'remote',
    isFinal: true,
    title: 'The certificate of an address is not trusted',
    hint: 'give its authority in the CA file of this source, or check the clock of the host',
  },
  'web.bad-authority': {
    kind: 'input',
    title: 'A CA file or text holds no certificate that can be read',
    hint: 'give a PEM file with at least one certificate',
  },
  'web.cut': {
    kind: 'media',
    title: 'A download stopped before its end',
    hint: 'run again; if it fails again, check the network and the server',
  },
} as const satisfies FailureTable;

/** Builds an error of reading a URL. */
export const webFailure = failuresOf(webFailures);
