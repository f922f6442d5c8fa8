import { Buffer } from 'node:buffer';
import { jsonIn } from '../../lib/json.ts';
import { decodeResource } from '../../ignition/resource.ts';
import type { MachineConfig } from '../machine-config.ts';
import { isMembers, type Members, type Value } from '../schema/schema.ts';

/**
 * Paths of the files of a MachineConfig that hold credentials by their looks: keys, pull secrets, and kubeconfigs.
 * Users with the hash of a password are named as `user NAME`.
 */
export function credentialsWithin({ object }: MachineConfig): readonly string[] {
  const config = membersOf(membersOf(object['spec'])['config']);
  const files = listOf(membersOf(config['storage'])['files']).filter((file) =>
    isTelling(membersOf(file['contents'])),
  );
  const users = listOf(membersOf(config['passwd'])['users']).filter(
    ({ passwordHash }) => typeof passwordHash === 'string' && passwordHash !== '',
  );
  return [
    ...files.map(({ path }) => textOf(path)),
    ...users.map(({ name }) => `user ${textOf(name)}`),
  ];
}

const privateKey = /-----BEGIN [A-Z ]*PRIVATE KEY-----/;
const kubeconfig = /^\s*(?:client-key-data|token|password):\s*\S/m;

function isTelling({ source, compression }: Members): boolean {
  if (typeof source !== 'string') return false;
  const text = decoded({
    source,
    ...(typeof compression === 'string' && compression !== '' ? { compression } : {}),
  });
  if (text === undefined) return false;
  if (privateKey.test(text) || kubeconfig.test(text)) return true;
  const json = jsonIn(text);
  return typeof json === 'object' && json !== null && 'auths' in json;
}

function decoded(resource: Parameters<typeof decodeResource>[0]): string | undefined {
  try {
    return Buffer.from(decodeResource(resource)).toString('utf8');
  } catch {
    return undefined;
  }
}

const listOf = (value: Value | undefined): readonly Members[] =>
  Array.isArray(value) ? (value as readonly Value[]).map(membersOf) : [];

const membersOf = (value: Value | undefined): Members => (isMembers(value) ? value : {});

const textOf = (value: Value | undefined): string => (typeof value === 'string' ? value : '');
