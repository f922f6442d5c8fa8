import { describe, expect, it } from 'vitest';
import { defaultContainerfile } from '../os-config/default.ts';
import { lintContainerfile } from './lint.ts';

const final = 'FROM configs AS final\n';
const commit = 'RUN ostree container commit\n';

describe('lintContainerfile', () => {
  it.each([
    ['the default', defaultContainerfile],
    ['a build in a stage of its own', `FROM golang AS b\nRUN cp x /opt/x\n${final}${commit}`],
    ['a stage between', `FROM configs AS mine\nFROM mine AS final\n${commit}`],
    ['a bootc lint at the end', `${final}RUN bootc container lint\n`],
    ['caches that are left', `${final}RUN touch /var/cache/x && ostree container commit\n`],
    ['continuation lines and comments', `${final}RUN a && \\\n# why\n\tostree container commit\n`],
    ['a here-document', `${final}RUN <<EOF\nWHATEVER\nostree container commit\nEOF\n`],
    ['a here-string', `${final}RUN cat <<<"x" && ostree container commit\n`],
    ['labels after the commit', `${final}${commit}LABEL a=b\n`],
    ['a copy from a lost folder', `${final}COPY --from=b /opt/x /usr/bin/x\n${commit}`],
    [
      'a package with the name of a program',
      `${final}RUN rpm-ostree install grubby && ${commit.slice(4)}`,
    ],
    ['cp from a lost folder', `${final}RUN cp /opt/x /usr/x && ostree container commit\n`],
  ])('finds nothing wrong with %s', (_, content) => {
    expect(lintContainerfile(content)).toEqual([]);
  });

  it.each([
    ['', [[1, 'final-stage', 'error']]],
    [`${final}RUNN x\n${commit}`, [[2, 'syntax', 'error']]],
    [`RUN x\n${final}${commit}`, [[1, 'first-stage', 'error']]],
    [`FROM ubi9 AS final\n${commit}`, [[1, 'final-stage', 'error']]],
    [`FROM configs\n${commit}`, [[1, 'final-stage', 'warning']]],
    [`FROM configs AS other\n${commit}`, [[1, 'final-stage', 'warning']]],
    [`${final}RUN rpm-ostree install x\n`, [[2, 'final-commit', 'warning']]],
    [`${final}${commit}COPY a /usr/bin/a\n`, [[3, 'final-commit', 'warning']]],
    [
      `${final}RUN mkdir -p /srv/x; echo >/root/y && ostree container commit\n`,
      [
        [2, 'lost-path', 'warning'],
        [2, 'lost-path', 'warning'],
      ],
    ],
    [`${final}WORKDIR /usr/local\nADD x bin/\n${commit}`, [[3, 'lost-path', 'error']]],
    [`${final}COPY ["a b", "/home/0"]\n${commit}`, [[2, 'lost-path', 'error']]],
    [
      `${final}RUN <<E\ntouch /var/lib/x\nostree container commit\nE\n`,
      [[2, 'lost-path', 'warning']],
    ],
    [
      `${final}COPY a.toml /usr/lib/bootc/kargs.d/\n${commit}`,
      [[2, 'kernel-arguments', 'warning']],
    ],
    [
      `${final}RUN grubby --args=a --update-kernel=ALL && ostree container commit\n`,
      [[2, 'kernel-arguments', 'error']],
    ],
    [
      `${final}RUN rpm-ostree kargs --append=a && ostree container commit\n`,
      [[2, 'kernel-arguments', 'error']],
    ],
  ])('finds in %j', (content, expected) => {
    const found = lintContainerfile(content);
    expect(found.map(({ line, rule, severity }) => [line, rule, severity])).toEqual(expected);
  });

  it('says what to write instead', () => {
    const [finding] = lintContainerfile(`${final}RUNN x\n${commit}`);
    expect(finding?.message).toBe('RUNN is no instruction of a Containerfile: write RUN');
  });
});
