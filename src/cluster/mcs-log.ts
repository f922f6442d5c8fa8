import { canonicalAddress } from '../lib/address.ts';

/** Where the kubelet puts a link to the log of each container of the host. */
export const containerLogs = '/var/log/containers';

/** Whether a name in `containerLogs` is a log of the machine-config-server. */
export const isMcsLog = (name: string): boolean => /machine-config-server.{0,255}\.log$/.test(name);

/**
 * A request that Ignition made. The machine-config-server writes the address in one of three ways,
 * by its release: `192.168.126.12:32780`, `[fe80::1%ens3]:40548`, `address:"[2620:52::1]:47018"`.
 */
const ignitionRequest = /(?<!\S)(\S{1,99}):\d{1,5}"? User-Agent:"Ignition/g;

/** Addresses, in canonical form, that requested Ignition according to a log. */
export function addressesAsking(text: string): readonly string[] {
  return [...text.matchAll(ignitionRequest)]
    .map(([, said = '']) =>
      said
        .replace(/^address:/, '')
        .replace(/^"?\[?/, '')
        .replace(/\]$/, ''),
    )
    .map(canonicalAddress)
    .filter((address) => address !== undefined)
    .map(ownText);
}

/** A copy. V8 makes a substring a reference, which would keep the whole log in memory. */
const ownText = (text: string): string => Buffer.from(text, 'utf8').toString('utf8');
