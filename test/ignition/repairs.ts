import type { LooseConfig } from './arbitrary.ts';

/** Without the members that do not go together with others. */
type Repair = (value: LooseConfig) => LooseConfig;

function without(value: LooseConfig, ...names: readonly string[]): LooseConfig {
  return Object.fromEntries(Object.entries(value).filter(([name]) => !names.includes(name)));
}

const isFetched = ({ source }: LooseConfig): boolean => /^https?:/u.test(String(source));

/** What makes an object sound whose members are sound by themselves, by the name of its shape. */
export const repairs: Readonly<Record<string, Repair>> = {
  Owner: (owner) => (owner['id'] === undefined ? owner : without(owner, 'name')),
  Clevis: (clevis) =>
    clevis['custom'] === undefined ? clevis : without(clevis, 'tang', 'threshold', 'tpm2'),
  Resource: (resource) => (isFetched(resource) ? resource : without(resource, 'httpHeaders')),
  Reference: (resource) => (isFetched(resource) ? resource : without(resource, 'httpHeaders')),
};
