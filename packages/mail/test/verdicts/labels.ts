/**
 * Reads the labelled replies and bounces. One stands in a line: what a careful postmaster says of it, the
 * categories that are right, and the words of the server; the heading above names where they were found.
 *
 * The first files are in two halves by a fixed seed. Which half an entry is in depends on its words, so that new
 * ones move no others, and what differs in addresses or numbers only stays together. Nobody writes a rule from the
 * parts that are for the score alone: `score`, whose number was looked at many times, and `blind`, which our code judged
 * once, after its rules were written. README.md has all numbers.
 *
 * The files `unfamiliar-`, `collected-`, `fresh-`, `traffic-`, `listed-` and `sampled-` were blind once; what fails
 * in them was read since.
 */
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { FAILURES, type FailureCategory } from '../../src/failure-category.ts'

const SEED = 'verdicts 1'

export const parts = ['work', 'score', 'blind'] as const
export type Part = (typeof parts)[number]

interface Origin {
  /** Of the names of its files. */
  readonly prefix: string
  readonly halves: readonly [Part, Part]
  /** Its entries are in the proportion in which they were found, or may be in another origin too. */
  readonly mayRepeat?: boolean
}

const ORIGINS: readonly Origin[] = [
  { prefix: '', halves: ['work', 'score'] },
  { prefix: 'unfamiliar-', halves: ['work', 'work'] },
  { prefix: 'collected-', halves: ['work', 'work'] },
  { prefix: 'fresh-', halves: ['work', 'work'] },
  { prefix: 'traffic-', halves: ['work', 'work'], mayRepeat: true },
  { prefix: 'listed-', halves: ['work', 'work'], mayRepeat: true },
  { prefix: 'sampled-', halves: ['work', 'work'], mayRepeat: true },
  { prefix: 'reported-', halves: ['blind', 'blind'], mayRepeat: true },
  { prefix: 'drawn-', halves: ['blind', 'blind'], mayRepeat: true },
]

/**
 * `address`: for good, and about the address: a bounce suppresses it. `either`: nobody can tell whether it is.
 * `final`: for good, about anything else. `later`: another attempt may do better.
 */
export const replyVerdicts = ['address', 'either', 'final', 'later'] as const
/** `none`: nothing failed for good or for this time, or nobody is named to whom it did. */
export const bounceVerdicts = [...replyVerdicts, 'none'] as const
export type Verdict = (typeof bounceVerdicts)[number]

interface Labelled {
  readonly line: string
  readonly part: Part
  readonly mayRepeat: boolean
  /** Without what differs from one server to the next, so that what was found twice is alike. */
  readonly words: string
  /** Where such words were found: whose, on what kind of page. */
  readonly source: string
  /** Empty for `none`. */
  readonly categories: readonly FailureCategory[]
}

export interface LabelledReply extends Labelled {
  readonly verdict: (typeof replyVerdicts)[number]
  /** With its code in front, its lines joined. */
  readonly text: string
}

export interface LabelledBounce extends Labelled {
  readonly verdict: Verdict
  /** Of bounce-forms.ts. */
  readonly form: string
  readonly options: Readonly<Record<string, string>>
  /** What the server said of the recipient, who is `{r}` in it. */
  readonly said: string
}

export function readReplies(): readonly LabelledReply[] {
  return readLines('replies.txt', ({ line, source, mayRepeat, halfOf }) => {
    const [, verdict = '', categories = '', text = ''] =
      /^(\S+) (\S+) ([45]\d\d.*)$/.exec(line) ?? []
    return {
      line,
      source,
      mayRepeat,
      verdict: oneOf(replyVerdicts, verdict, line),
      categories: categoriesOf(categories, line),
      text,
      words: wordsOf(text),
      part: halfOf(`${text.slice(0, 3)} ${wordsOf(text)}`),
    }
  })
}

export function readBounces(): readonly LabelledBounce[] {
  return readLines('bounces.txt', ({ line, source, mayRepeat, halfOf }) => {
    const [, verdict = '', categories = '', form = '', options = '', said = ''] =
      /^(\S+) (\S+) ([\w-]+)(?:\{([^}]*)\})?(?: (.*))?$/.exec(line) ?? []
    return {
      line,
      source,
      mayRepeat,
      verdict: oneOf(bounceVerdicts, verdict, line),
      categories: categories === '-' ? [] : categoriesOf(categories, line),
      form,
      options: optionsOf(options),
      said,
      words: wordsOf(said),
      part: halfOf(`${form} ${options} ${wordsOf(said)}`),
    }
  })
}

function readLines<T>(
  name: string,
  read: (o: {
    readonly line: string
    readonly source: string
    readonly mayRepeat: boolean
    readonly halfOf: (entry: string) => Part
  }) => T,
): readonly T[] {
  return ORIGINS.flatMap(({ prefix, halves, mayRepeat = false }) => {
    let source = ''
    const halfOf = (entry: string) => halves[isSecondHalf(entry) ? 1 : 0]
    return readFileSync(new URL(`${prefix}${name}`, import.meta.url), 'utf8')
      .split('\n')
      .flatMap((line) => {
        if (line.startsWith('# ')) source = line.slice(2)
        return line === '' || line.startsWith('#')
          ? []
          : [read({ line, source, mayRepeat, halfOf })]
      })
  })
}

function oneOf<T extends string>(all: readonly T[], value: string, line: string): T {
  const found = all.find((one) => one === value)
  if (found === undefined) throw new Error(`no such verdict as in: ${line}`)
  return found
}

function categoriesOf(value: string, line: string): readonly FailureCategory[] {
  return value.split('|').map((name) => {
    if (!Object.hasOwn(FAILURES, name)) throw new Error(`no such category as in: ${line}`)
    return name as FailureCategory
  })
}

/** `status=5.1.1; action=expired` */
function optionsOf(text: string): Readonly<Record<string, string>> {
  const pairs = text.split(/;\s*/).filter((one) => one !== '')
  return Object.fromEntries(
    pairs.map((pair) => {
      const at = pair.indexOf('=')
      return [pair.slice(0, at), pair.slice(at + 1)]
    }),
  )
}

/** Without what differs from one server to the next. */
function wordsOf(text: string): string {
  return text
    .toLowerCase()
    .replace(/https?:\/\/\S+|\S*@\S*|\b[a-z\d-]+(\.[a-z\d-]+)*\.(com|net|org)\b/g, ' ')
    .replace(/[^\p{L}]+/gu, ' ')
    .trim()
}

function isSecondHalf(key: string): boolean {
  const [first = 0] = createHash('sha256').update(`${SEED} ${key}`).digest()
  return first % 2 !== 0
}
