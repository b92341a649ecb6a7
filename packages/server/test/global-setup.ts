/**
 * One PostgreSQL server for a whole test run, and in it two template databases: one is migrated, and one
 * has the day partitions too, as after a start of the service. There are hundreds of partitions, so most
 * test files copy them instead of making them.
 *
 * POSTRIDER_TEST_DATABASE_URL names a server to use instead; its role must be allowed to create databases.
 * The server of the run does not sync to disk: what the tests of durability need, they start themselves.
 */
import { randomBytes } from 'node:crypto'
import { databaseUrl, runOnServer } from '@postrider/testkit/database'
import pino from 'pino'
import type { ProvidedContext } from 'vitest'
import type { TestProject } from 'vitest/node'
import { migrate } from '../src/platform/db/migrate.ts'
import { onceForARun } from './once-for-a-run.ts'
import { startScratchServer } from './scratch-server.ts'

declare module 'vitest' {
  export interface ProvidedContext {
    testDatabase: { serverUrl: string; template: string; templateWithDays: string }
  }
}

type TestDatabase = ProvidedContext['testDatabase']

export async function setup(project: TestProject): Promise<() => Promise<void>> {
  const { value, end } = await onceForARun('database', makeDatabases)
  project.provide('testDatabase', value)
  return end
}

async function makeDatabases(): Promise<{ value: TestDatabase; end(): Promise<void> }> {
  const external = process.env.POSTRIDER_TEST_DATABASE_URL
  const server = external === undefined ? await startScratchServer() : undefined
  const serverUrl = external ?? server?.url ?? ''
  const template = `template_${randomBytes(8).toString('hex')}`
  const templateWithDays = `${template}_days`
  try {
    await runOnServer(serverUrl, `create database ${template}`)
    await migrate({
      url: databaseUrl(serverUrl, template),
      dir: new URL('../migrations/', import.meta.url),
      log: pino({ level: 'silent' }),
    })
    await runOnServer(serverUrl, `create database ${templateWithDays} template ${template}`)
    await runOnServer(
      databaseUrl(serverUrl, templateWithDays),
      `select platform_ensure_day_partitions(relname::text) from pg_class where relkind = 'p'`,
    )
  } catch (error) {
    await server?.stop()
    throw error
  }
  const end = async () => {
    if (server) await server.stop()
    else {
      for (const name of [template, templateWithDays])
        await runOnServer(serverUrl, `drop database if exists ${name} with (force)`)
    }
  }
  return { value: { serverUrl, template, templateWithDays }, end }
}
