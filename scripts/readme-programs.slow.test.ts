/** The programs in the READMEs of packages that stand alone: each runs, and prints what the README says. */
import { spawn } from 'node:child_process'
import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { createSmtpServer } from '@postrider/testkit'
import { expect, it } from 'vitest'

const packages = new URL('../packages/', import.meta.url)

interface Program {
  readonly name: string
  readonly number: number
  readonly code: string
  readonly prints: string
}

function programsOf(name: string): Program[] {
  const readme = readFileSync(new URL(`${name}/README.md`, packages), 'utf8')
  const blocks = readme.matchAll(/^```ts\n(.*?)^```\n\n```text\n(.*?)^```$/gms)
  return [...blocks].map(([, code = '', prints = ''], number) => ({ name, number, code, prints }))
}

/** In a file of the package, which resolves what it imports as the package does. */
async function run({ name, number, code }: Program, env: Record<string, string>): Promise<string> {
  const file = fileURLToPath(new URL(`${name}/readme-program-${number}.tmp.ts`, packages))
  writeFileSync(file, code)
  try {
    const child = spawn(process.execPath, [file], { env: { PATH: process.env.PATH, ...env } })
    const [told, wrong] = await Promise.all([text(child.stdout), text(child.stderr)])
    return told + wrong
  } finally {
    rmSync(file, { force: true })
  }
}

const all = ['runtime', 'mail', 'embedded-postgres'].flatMap(programsOf)

it('the programs of the READMEs are found', () => {
  expect(all.map(({ name }) => name)).toEqual([
    ...['runtime', 'runtime', 'mail', 'mail', 'embedded-postgres'],
  ])
})

it.each(all)(
  'program $number of $name prints what its README says',
  async (program) => {
    const server = await createSmtpServer()
    try {
      expect(await run(program, { SMTP_PORT: String(server.port) })).toBe(program.prints)
    } finally {
      await server.close()
    }
  },
  60_000,
)
