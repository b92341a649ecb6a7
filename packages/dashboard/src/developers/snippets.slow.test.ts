/**
 * The lines that empty lists show. Each `snippets.ts` is found, and each of its functions is called: what it answers
 * compiles against the client, and calls the operation that it names in the way of the API.
 */
import { globSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { operations } from '@postrider/contract'
import ts from 'typescript'
import { afterAll, beforeAll, expect, it, vi } from 'vitest'
import { permissions } from '../session/permissions.ts'
import { exampleHost, type Snippets } from './snippets-of.ts'

const ORIGIN = 'https://mail.example.com'
const SOURCES = fileURLToPath(new URL('..', import.meta.url))

beforeAll(() => vi.stubGlobal('location', { origin: ORIGIN }))
afterAll(() => vi.unstubAllGlobals())

const files = globSync('*/snippets.ts', { cwd: SOURCES })

/** By the file and the function; each parameter is an address, a domain or an id. */
async function findAll(): Promise<Map<string, Snippets>> {
  const found = new Map<string, Snippets>()
  for (const file of files) {
    const made: Record<string, (text: string) => Snippets> = await import(`${SOURCES}/${file}`)
    for (const [name, make] of Object.entries(made))
      found.set(`${file.split('/')[0]}.${name}`, make('news.example.com'))
  }
  return found
}

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

it('compile, each with its import and its client', async () => {
  const found = await findAll()
  expect(found.size).toBeGreaterThanOrEqual(20)
  const programs = Object.fromEntries(
    [...found].map(([name, { typescript }]) => [name, typescript]),
  )
  const wrong = programs['mailers.smtpSnippets']?.replace('port: 587', "port: '587'") ?? ''
  expect(compile({ ...programs, wrong })).toEqual([
    expect.stringMatching(/wrong\.program\.ts: .*number/s),
  ])
})

it('call their operation by its method and path, with the key that it takes', async () => {
  for (const [name, { operation, curl, typescript }] of await findAll()) {
    const { method, path, auth } = operations[operation]
    const [head = '', ...rest] = curl.split(' \\\n')
    const [, verb, asked] = /^curl (?:-N )?(?:-X (\w+) )?(\S+)$/.exec(head) ?? []
    const body = /-d '(.*)'$/s.exec(rest.join('\n'))?.[1]
    expect(verb ?? (body === undefined ? 'GET' : 'POST'), name).toBe(method)
    const pattern = path.replace(/\{\w+\}/g, '[^/]+')
    expect(asked, name).toMatch(new RegExp(`^${ORIGIN}${pattern}$`))
    expect(typescript, name).toContain(`postrider.${operation}(`)
    if (body !== undefined) expect(JSON.parse(body), name).toBeTypeOf('object')
    // It says which scope its key needs; the operator's needs none.
    expect(permissions[operation]?.scope === undefined, name).toBe(auth === 'admin')
    expect(curl.includes('$POSTRIDER_ADMIN_TOKEN'), name).toBe(auth === 'admin')
    expect(typescript.includes('POSTRIDER_ADMIN_TOKEN'), name).toBe(auth === 'admin')
    expect(typescript.includes(`// ${exampleHost}`), name).toBe(curl.includes(exampleHost))
  }
})

it('are nowhere else', () => {
  const others = globSync('**/*.{ts,tsx}', { cwd: SOURCES }).filter(
    (file) => !files.includes(file) && !file.includes('.test.'),
  )
  const making = others.filter((file) =>
    /\bsnippetsOf\(/.test(readFileSync(`${SOURCES}/${file}`, 'utf8')),
  )
  expect(making).toEqual(['developers/snippets-of.ts'])
  const writing = others.filter((file) =>
    readFileSync(`${SOURCES}/${file}`, 'utf8').includes('apiKey: process.env'),
  )
  expect(writing).toEqual(['developers/snippets-of.ts'])
})
