import { describe, expect, it } from 'vitest';
import { lintContainerfile } from './lint.ts';

const first = 'FROM configs AS final\n';
const end = 'RUN ostree container commit\n';

describe('what a builder refuses', () => {
  it.each([
    [`FROM configs AS final extra\n${end}`, 1, 'FROM configs AS final extra is not understood'],
    [`FROM configs AS\n${end}`, 1, 'FROM configs AS is not understood'],
    [`FROM configs final\n${end}`, 1, 'FROM configs final is not understood'],
    [`FROM\n${end}`, 1, 'FROM names no image: write FROM IMAGE, or FROM IMAGE AS NAME'],
    [`FROM --platform=linux/amd64\n${end}`, 1, 'FROM names no image'],
    [`${first}COPY x\n${end}`, 2, 'COPY takes what is copied and where it goes: write COPY SOURCE'],
    [`${first}COPY --from=b x\n${end}`, 2, 'COPY takes'],
    [`${first}ADD ["x"]\n${end}`, 2, 'ADD takes'],
    [`${first}COPY\n${end}`, 2, 'COPY takes'],
    [`${first}RUN\n${end}`, 2, 'RUN says nothing'],
    [`${first}RUN --mount=type=cache,target=/x\n${end}`, 2, 'RUN says nothing'],
    [`${first}ENV\n${end}`, 2, 'ENV says nothing'],
    [`${first}RUN <<E\n${end}`, 2, 'the here-document of this RUN has no end: write E on a line'],
    [`${first}COPY <<-"E" /usr/x\n E\n${end}`, 2, 'the here-document of this COPY has no end'],
    [`${first}RUNN x\n${end}`, 2, 'RUNN is no instruction of a Containerfile: write RUN'],
    [`${first}XYZZY x\n${end}`, 2, 'XYZZY is no instruction of a Containerfile: see Containerf'],
  ])('is told of %j and nothing beside it', (text, line, message) => {
    const found = lintContainerfile(text);
    expect(found).toMatchObject([{ rule: 'syntax', severity: 'error', line }]);
    expect(found[0]?.message.slice(0, message.length)).toBe(message);
  });

  it.each([
    'FROM --platform=linux/amd64 configs as final\n',
    `${first}CMD []\n`,
    `${first}COPY a b c/\n`,
    `${first}RUN cat <<< word\n`,
    `${first}RUN cat<<word\n`,
    `${first}RUN echo "a <<word"\n`,
    `${first}RUN --mount=type=cache,target=/x make\n`,
  ])('is not told of %j', (text) => {
    const rules = lintContainerfile(`${text}${end}`).map(({ rule }) => rule);
    expect(rules).toEqual([]);
  });
});
