/**
 * Words that the project has given up for the field's own, the length of sentences in documents, and
 * the length of commit subjects (CONTRIBUTING.md, "A change"). Documents are read whole; of sources only
 * the comments and the titles of tests.
 */
import { spawnSync } from 'node:child_process'
import { expect, it } from 'vitest'
import { commentOf, projectFiles, read, root } from './project-files.ts'
import { countWords, sentencesOf } from './sentences.ts'

/** Commits before this one are as they are. */
const RULED_SINCE = '334fd51c93213edf03b73ac96acee8edbbfe803d'
const SUBJECT_CHARS_MAX = 72
/** The longest; most should have fewer than 20. */
const SENTENCE_WORDS_MAX = 35

interface GivenUp {
  readonly word: RegExp
  readonly say: string
  /** Paths where the word is right: a name of the wire or of a column, or what an RFC calls so. */
  readonly except?: RegExp
}

const givenUp: readonly GivenUp[] = [
  // `webhooks_pending.lane` is a column.
  { word: /\blanes?\b/i, say: 'queue', except: /^packages\/server\/(src\/webhooks|migrations)\// },
  { word: /\bslots?\b/i, say: 'place' },
  { word: /\brooms\b/i, say: 'limits, or folders' },
  { word: /\bpaces?\b/i, say: 'work limiter, or class of an endpoint' },
  { word: /\bparked reports?\b/i, say: 'unmatched report' },
  { word: /\brests\b(?! on\b)/i, say: 'backs off, or pauses' },
  { word: /\bstand-ins?\b/i, say: 'placeholder' },
  { word: /\bgates?\b/i, say: 'limiter' },
  { word: /\bintake\b/i, say: 'ingest', except: /^packages\/server\/src\/(feedback|tracking)\// },
  // The dot that ends a message is a thing of SMTP itself.
  {
    word: /\b(after|before|of|to) the dot\b/i,
    say: 'commit point',
    except: /^packages\/(mail\/src\/smtp|testkit)\//,
  },
  { word: /\bheld rows?\b/i, say: 'leased recipients' },
  { word: /\bkept[- ]days?\b/i, say: 'retention' },
  { word: /\blow[- ]water\b/i, say: 'cursor', except: /^docs\/adr\/0005-/ },
  { word: /\b(smtp|login)[- ]line\b/i, say: 'connection pool, or login limiter' },
  { word: /\btall(y|ies)\b/i, say: 'counter' },
  { word: /\bmend(s|ed|ing)?\b/i, say: 'fix' },
  { word: /\b(holds?|held|holding) up\b/i, say: 'delay' },
  { word: /\bstood still\b/i, say: 'was suspended' },
  { word: /\bwhoever\b/i, say: 'the process, caller or person that' },
  // Documents that are not in the repository.
  { word: /\b(spec|interface|contract),? §/i, say: 'docs/reference/<page>.md#<heading>' },
]

// It has to name them.
const files = projectFiles().filter((path) => path !== 'scripts/plain-words.test.ts')

/** What a reader reads as a sentence: no code, no option of a command, no target of a link. */
function proseOf(line: string, path: string): string {
  const text = path.endsWith('.md') ? line : `${commentOf(line)} ${titleOf(line, path)}`
  return text
    .replaceAll(/`[^`]*`/g, ' ')
    .replaceAll(/\]\([^)]*\)/g, ' ')
    .replaceAll(/--[\w-]+/g, ' ')
}

/** The title that a line of a test file gives to a test or a group of tests, if it does. */
function titleOf(line: string, path: string): string {
  if (!path.endsWith('.test.ts')) return ''
  return /^\s*(?:(?:it|test|describe)\b.*?\(|\]\)?.*?\()(['"`])(.*)\1/.exec(line)?.[2] ?? ''
}

function findGivenUp(path: string, text: string): string[] {
  const ruled = givenUp.filter(({ except }) => except?.test(path) !== true)
  return text.split('\n').flatMap((line, i) => {
    const prose = proseOf(line, path)
    return ruled.flatMap(({ word, say }) => {
      const found = word.exec(prose)?.[0]
      return found === undefined ? [] : `${path}:${i + 1}: "${found}": say ${say}`
    })
  })
}

it('documents and comments use none of the words that were given up', () => {
  expect(files.length).toBeGreaterThan(1_000)
  const found = files.flatMap((path) => findGivenUp(path, read(path)))
  expect(found).toEqual([])
})

it('a word that was given up is found in prose, and not in code', () => {
  const path = 'packages/server/src/sending/a.ts'
  expect(findGivenUp(path, '/** Wakes\n * the lane. */')).toEqual([`${path}:2: "lane": say queue`])
  expect(findGivenUp(path, 'a() // mended')).toEqual([`${path}:1: "mended": say fix`])
  expect(findGivenUp('e2e/a.test.ts', "  it('wakes the lane', () => {")).toEqual([
    'e2e/a.test.ts:1: "lane": say queue',
  ])
  expect(findGivenUp('docs/a.md', 'Rooms.')).toEqual([
    'docs/a.md:1: "Rooms": say limits, or folders',
  ])
  expect(findGivenUp(path, "const lane = 'lane' // `lane`\nslots()")).toEqual([])
  expect(findGivenUp('docs/a.md', '`slot`, --create-slot, [it](intake.md)')).toEqual([])
  expect(findGivenUp('packages/server/src/webhooks/a.ts', '// By lane.')).toEqual([])
})

it(`no sentence of a document has more than ${SENTENCE_WORDS_MAX} words`, () => {
  const documents = files.filter((path) => path.endsWith('.md'))
  expect(documents.length).toBeGreaterThan(50)
  const tooLong = documents.flatMap((path) =>
    sentencesOf(read(path))
      .filter((sentence) => countWords(sentence) > SENTENCE_WORDS_MAX)
      .map((sentence) => `${path}: ${countWords(sentence)} words: ${sentence}`),
  )
  expect(tooLong).toEqual([])
})

it('sentences end at a stop, an item of a list and a cell of a table, and code is one word', () => {
  expect(sentencesOf('One two\nthree. `A b`: Four.\n- Five\n  six\n1. Seven')).toEqual([
    'One two three.',
    'CODE:',
    'Four.',
    'Five six',
    'Seven',
  ])
  expect(sentencesOf('# Title\n| a | b |\n|---|---|\n| c d | `e`.<br>F |')).toEqual([
    'a',
    'b',
    'c d',
    'CODE.',
    'F',
  ])
  expect(sentencesOf('```sh\nA. B.\n```\nSee [this page](a.md).')).toEqual(['See [this page].'])
  expect(countWords('See [this page], CODE and 5 %.')).toBe(6)
})

it(`commit subjects have at most ${SUBJECT_CHARS_MAX} characters`, () => {
  const git = (...args: string[]) =>
    spawnSync('git', args, { cwd: root, encoding: 'utf8', maxBuffer: 64 * 1_048_576 })
  // An unpacked archive has no history, and a shallow clone only its end: nothing to look at.
  if (git('merge-base', '--is-ancestor', RULED_SINCE, 'HEAD').status !== 0) return
  const log = git('log', '--no-merges', '--format=%h %s', `${RULED_SINCE}..HEAD`)
  expect(log.status).toBe(0)
  const tooLong = log.stdout
    .split('\n')
    .filter((line) => [...line.slice(line.indexOf(' ') + 1)].length > SUBJECT_CHARS_MAX)
  expect(tooLong).toEqual([])
})
