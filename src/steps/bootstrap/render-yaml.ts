import { stringify } from 'yaml';

/**
 * Renders an object as YAML. Every string is quoted: the cluster reads YAML 1.1, in which `yes`,
 * `4.10` and an empty value are not strings.
 */
export const renderYaml = (object: object): string =>
  stringify(object, {
    defaultStringType: 'QUOTE_DOUBLE',
    defaultKeyType: 'PLAIN',
    aliasDuplicateObjects: false,
    lineWidth: 0,
  });
