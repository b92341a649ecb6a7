/** The lines of TypeScript that empty lists show: each is a program that compiles against the client. */
import { fileURLToPath } from 'node:url'
import ts from 'typescript'
import { afterAll, beforeAll, expect, it, vi } from 'vitest'
import { imapSnippets } from '../mailboxes/snippets.ts'
import { smtpSnippets } from '../mailers/snippets.ts'
import { appSnippets } from '../oauth/snippets.ts'
import { testSnippets } from '../test-inbox/snippets.ts'
import { webhookSnippets } from '../webhooks/snippets.ts'
import { sendSnippets } from './snippets.ts'
import { snippetsOf } from './snippets-of.ts'

const ORIGIN = 'https://mail.example.com'

beforeAll(() => vi.stubGlobal('location', { origin: ORIGIN }))
afterAll(() => vi.unstubAllGlobals())

/** Of the six pages that have lines of their own, and of one that has them from a body. */
const programs = () => ({
  mailers: smtpSnippets(ORIGIN).typescript,
  mailboxes: imapSnippets(ORIGIN).typescript,
  oauth: appSnippets(ORIGIN).typescript,
  'test-inbox': testSnippets(ORIGIN, 'news@example.com').typescript,
  webhooks: webhookSnippets(ORIGIN).typescript,
  developers: sendSnippets(ORIGIN, 'news@example.com').typescript,
  suppressions: snippetsOf('/v1/suppressions', 'addSuppression', { email: 'a@example.com' })
    .typescript,
})

/** What the compiler says of these programs, as files of this folder, which have the client. */
function compile(texts: Readonly<Record<string, string>>): string[] {
  const files = new Map(
    Object.entries(texts).map(([name, text]) => [
      fileURLToPath(new URL(`${name}.program.ts`, import.meta.url)),
      text,
    ]),
  )
  const options: ts.CompilerOptions = {
    ...{
      strict: true,
      noEmit: true,
      skipLibCheck: true,
      allowImportingTsExtensions: true,
      types: ['node'],
    },
    target: ts.ScriptTarget.ES2024,
    module: ts.ModuleKind.NodeNext,
    moduleResolution: ts.ModuleResolutionKind.NodeNext,
  }
  const host = ts.createCompilerHost(options)
  const { readFile, fileExists } = host
  host.fileExists = (path) => files.has(path) || fileExists(path)
  host.readFile = (path) => files.get(path) ?? readFile(path)
  return ts
    .getPreEmitDiagnostics(ts.createProgram([...files.keys()], options, host))
    .map(({ file, messageText }) => {
      return `${file?.fileName}: ${ts.flattenDiagnosticMessageText(messageText, '\n')}`
    })
}

it('compile, each with its import and its client', () => {
  const wrong = programs().mailers.replace('port: 587', "port: '587'")
  expect(compile({ ...programs(), wrong })).toEqual([
    expect.stringMatching(/wrong\.program\.ts: .*number/s),
  ])
})
