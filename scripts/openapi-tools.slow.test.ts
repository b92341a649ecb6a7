/**
 * What others make of docs/openapi.json: two validators have nothing against it, and two generators
 * write clients from it that compile.
 */
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { createClient } from '@hey-api/openapi-ts'
import { createConfig, lintFromString } from '@redocly/openapi-core'
import { Validator } from '@seriousme/openapi-schema-validator'
import openapiTS, { astToString } from 'openapi-typescript'
import ts from 'typescript'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'

const file = fileURLToPath(new URL('../docs/openapi.json', import.meta.url))
const source = readFileSync(file, 'utf8')
/** A copy each: tools resolve references in place. */
const read = () => JSON.parse(source)

let directory: string
beforeAll(() => {
  directory = mkdtempSync(join(tmpdir(), 'postrider-openapi-'))
})
afterAll(() => rmSync(directory, { recursive: true, force: true }))

/** What the compiler says of these files and all that they import, in a strict project of its own. */
function compile(files: readonly string[]): string[] {
  const program = ts.createProgram(files, {
    strict: true,
    noEmit: true,
    skipLibCheck: false,
    // TypeScript's own libraries are not ours to check.
    skipDefaultLibCheck: true,
    target: ts.ScriptTarget.ES2022,
    module: ts.ModuleKind.ESNext,
    moduleResolution: ts.ModuleResolutionKind.Bundler,
    lib: ['lib.es2022.d.ts', 'lib.dom.d.ts', 'lib.dom.iterable.d.ts'],
    types: [],
  })
  return ts
    .getPreEmitDiagnostics(program)
    .map(
      ({ file: at, messageText }) =>
        `${at?.fileName}: ${ts.flattenDiagnosticMessageText(messageText, '\n')}`,
    )
}

describe('validators of OpenAPI', () => {
  it('@seriousme/openapi-schema-validator finds no error', async () => {
    const { valid, errors } = await new Validator().validate(read())
    expect([valid, errors ?? []]).toEqual([true, []])
  })

  it('@redocly/openapi-core finds no error', async () => {
    const config = await createConfig({
      extends: ['recommended-strict'],
      rules: {
        'no-invalid-media-type-examples': 'error',
        'no-invalid-schema-examples': 'error',
        // The committed one is of a service at mail.example.com.
        'no-server-example.com': 'off',
        // `/v1/oauth/apps/{app_id}` and `/v1/oauth/{mailer_id}/active`: no id of a mailer is `apps`.
        'no-ambiguous-paths': 'off',
      },
    })
    const problems = await lintFromString({ source, absoluteRef: file, config })
    expect(
      problems.map(({ ruleId, message, location: [at] }) => [ruleId, message, at?.pointer]),
    ).toEqual([])
  })
})

describe('generators of clients', { timeout: 120_000 }, () => {
  it('openapi-typescript writes types that compile, and fit a call', async () => {
    writeFileSync(join(directory, 'api.ts'), astToString(await openapiTS(read())))
    const use = join(directory, 'use-types.ts')
    writeFileSync(
      use,
      `import type { components, operations } from './api'
type Schemas = components['schemas']
export const body: Schemas['SendEmailBody'] = {
  from: { email: 'news@example.com' },
  to: [{ email: 'ada@example.com', name: 'Ada' }],
  subject: 'Hello',
  content: [{ type: 'text/plain', value: 'Hello' }],
}
type Sent = operations['sendEmail']['responses'][202]['content']['application/json']
export const first = (sent: Sent): Schemas['RecipientStatus'] | undefined => sent.recipients[0]?.status
export const host = ({ config }: Schemas['Mailer']): string => config.host
export const failed = (event: Schemas['SmtpError']): number => event.details.attempt
// @ts-expect-error there is no such field
export const wrong: Schemas['Address'] = { email: 'ada@example.com', surname: 'Lovelace' }
`,
    )
    expect(compile([use])).toEqual([])
  })

  it('@hey-api/openapi-ts writes a client that compiles, with one type for each shape', async () => {
    const output = join(directory, 'client')
    mkdirSync(output)
    await createClient({
      input: read(),
      output: { path: output },
      logs: { level: 'silent' },
      plugins: ['@hey-api/typescript', '@hey-api/sdk', '@hey-api/client-fetch'],
    })
    const use = join(directory, 'use-client.ts')
    writeFileSync(
      use,
      `import { listMailers, sendEmail } from './client/sdk.gen'
import type { Address, Mailer, Recipient, WebhookDelivery } from './client/types.gen'
const from: Address = { email: 'news@example.com' }
export async function run(): Promise<Recipient[]> {
  const { data } = await sendEmail({
    headers: { 'Idempotency-Key': 'order-1234' },
    body: { from, to: [from], subject: 'Hello', content: [{ type: 'text/plain', value: 'Hi' }] },
  })
  return data?.recipients ?? []
}
export const mailers = async () => (await listMailers({ query: { pageSize: 10 } })).data?.mailers
export const stateOf = ({ state }: Mailer) => state
export const statusOf = ({ status }: WebhookDelivery) => status
`,
    )
    expect(compile([use])).toEqual([])
    const types = readFileSync(join(output, 'types.gen.ts'), 'utf8')
    for (const name of ['Address', 'Attachment', 'Mailer', 'Suppression', 'SmtpError'])
      expect(types.match(new RegExp(`^export type ${name}\\d* = `, 'gm'))).toHaveLength(1)
  })
})
