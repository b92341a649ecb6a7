/** The whole service as it is composed, on a database of a test, with an operator who has a token. */
import { type App, compose } from '../src/compose.ts'
import { loadConfig } from '../src/config.ts'
import { createLogger } from '../src/platform/log.ts'

export const ADMIN_TOKEN = 'a-token-of-the-operator-for-tests'

export function composeForTest(
  databaseUrl: string,
  o: { readonly env?: Readonly<Record<string, string>>; readonly version?: string } = {},
): App {
  const config = loadConfig({
    POSTRIDER_DATABASE_URL: databaseUrl,
    POSTRIDER_SECRET_KEYS: `k:${Buffer.alloc(32, 7).toString('base64')}`,
    POSTRIDER_ADMIN_TOKEN: ADMIN_TOKEN,
    POSTRIDER_PORT: '0',
    POSTRIDER_INBOUND_PORT: '0',
    ...o.env,
  })
  return compose({
    config,
    secrets: { secretKeys: config.secretKeys ?? '', adminToken: ADMIN_TOKEN },
    databaseUrl,
    log: createLogger({ level: 'silent' }),
    build: { version: o.version ?? '0.0.0', commit: 'unknown' },
  })
}
