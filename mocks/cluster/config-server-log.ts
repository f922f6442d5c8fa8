import { isIPv6 } from 'node:net';

/** Name of the log of the machine-config-server on the bootstrap host, as the kubelet links it. */
export const configServerLog =
  'machine-config-server-b1_openshift-machine-config-operator_machine-config-server-0f1e2d3c4b5a69788796a5b4c3d2e1f00f1e2d3c4b5a69788796a5b4c3d2e1f0.log';

/** Somebody asks the machine-config-server for Ignition. */
export interface ConfigRequest {
  readonly pool: string;
  readonly address: string;
  readonly at: Date;
  /** Which of the forms: they changed from release to release. */
  readonly form: number;
}

const PORT = 47_018;

/**
 * The line that it writes, with what CRI-O puts before it. The forms: `1.2.3.4:PORT` and
 * `[fe80::1%ens3]:PORT` without quotes, `address:"[2620::1]:PORT"` since the log is structured.
 */
export function configRequestLine({ pool, address, at, form }: ConfigRequest): string {
  const asked = isIPv6(address)
    ? `[${address}${address.startsWith('fe80:') ? '%ens3' : ''}]:${PORT}`
    : `${address}:${PORT}`;
  const agent =
    'User-Agent:"Ignition/2.19.0" Accept-Header: "application/vnd.coreos.ignition+json"';
  const isStructured = form % 2 === 1;
  const said = isStructured
    ? `Pool ${pool} requested by address:"${asked}" ${agent}`
    : `Pool ${pool} requested by ${asked} ${agent}`;
  return `${at.toISOString()} stderr F I1121 12:00:00.000000       1 api.go:121] ${said}\n`;
}
