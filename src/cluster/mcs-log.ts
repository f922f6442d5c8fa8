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

/** Addresses, in canonical form, that requested Ignition in the complete lines of a log. */
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

/** The position up to which one container's log has been read. */
export interface McsLog {
  /** The addresses that requested Ignition, in all that was ever read. */
  readonly asked: ReadonlySet<string>;
  /** Number of characters read, in complete lines. */
  readonly read: number;
  /** The last characters read; they identify another file of the same name. */
  readonly tail: string;
}

/** A log before its first read. */
export const unreadLog: McsLog = { asked: new Set(), read: 0, tail: '' };

/** Number of characters that tell one log from another: each line begins with its time. */
const tailLength = 256;

/**
 * Continues to read a log, given its whole text: only new and complete lines are parsed. A log that
 * was replaced, after a rotation for example, is read from its beginning. The known addresses are
 * kept.
 */
export function readOn(log: McsLog, text: string): McsLog {
  const isSame = text.startsWith(log.tail, log.read - log.tail.length) && text.length >= log.read;
  const from = isSame ? log.read : 0;
  const end = text.lastIndexOf('\n') + 1;
  if (end <= from) return isSame ? log : { ...unreadLog, asked: log.asked };
  const found = addressesAsking(text.slice(from, end));
  const isNews = found.some((address) => !log.asked.has(address));
  return {
    asked: isNews ? new Set([...log.asked, ...found]) : log.asked,
    read: end,
    tail: ownText(text.slice(Math.max(0, end - tailLength), end)),
  };
}
