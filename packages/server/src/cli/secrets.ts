/** `postrider secrets`: the keys by which passwords and other secrets are sealed. */
import type { Command } from 'commander'
import type { Config } from '../config.ts'
import { withCurrentDatabase } from '../operator-database.ts'
import type { Logger } from '../platform/log.ts'
import { rotateKeys } from '../platform/secrets/index.ts'
import { toKeys } from '../platform/secrets/secrets-file.ts'
import { requireSecrets } from '../platform/secrets/stored-secrets.ts'
import { sealedColumns, trackingKeys } from '../sealed-columns.ts'
import { audited } from './audited.ts'
import { json, type Result, table } from './output.ts'

export interface SecretCommandDeps {
  readonly config: () => Config
  readonly log: Logger
  readonly print: (result: Result, options: { readonly json?: boolean }) => void
  readonly setExitCode: (code: number) => void
}

interface RotateOptions {
  readonly json?: boolean
  readonly dryRun?: boolean
}

type Rotation = Awaited<ReturnType<typeof rotateKeys>>

export function addSecretCommands(program: Command, deps: SecretCommandDeps): void {
  const secrets = program.command('secrets').description('keys of stored secrets')
  secrets
    .command('rotate')
    .description(
      'encrypt all secrets with the first key of POSTRIDER_SECRET_KEYS, while services run',
    )
    .option('--dry-run', 'count only')
    .addOption(json())
    .action(async (options: RotateOptions) => {
      const config = deps.config()
      const keys = toKeys(requireSecrets(config))
      const isDryRun = options.dryRun === true
      const rotation = await withCurrentDatabase({ config, log: deps.log }, (db) => {
        const work = () =>
          rotateKeys({ db, ...keys, columns: sealedColumns, derived: trackingKeys, isDryRun })
        const [target = ''] = keys.keyIds
        return isDryRun ? work() : audited(db, { operation: 'secrets rotate', target, work })
      })
      if (rotation.kinds.some(({ unopened }) => unopened > 0)) deps.setExitCode(1)
      deps.print(toResult(rotation, isDryRun), options)
    })
}

function toResult({ keyId, kinds, needless }: Rotation, isDryRun: boolean): Result {
  const lines = kinds.map(({ kind, rotated, unopened }) => [
    kind,
    `${rotated}${isDryRun ? ' to seal anew' : ' sealed anew'}`,
    unopened === 0 ? '' : `${unopened} that no configured key opens`,
  ])
  const last =
    needless.length === 0
      ? []
      : [
          '',
          `No longer needed: ${needless.join(', ')}. Remove it from POSTRIDER_SECRET_KEYS of every process, and restart them.`,
        ]
  return {
    json: { key_id: keyId, dry_run: isDryRun, kinds, needless },
    text: [`By the key ${keyId}:`, table(lines), ...last].join('\n'),
  }
}
