/**
 * The configuration as getSystem shows it. A value is shown where its type says how: types whose values could
 * hold a secret say nothing, so a new variable is hidden until its type cannot hold one.
 */
import type { SystemSetting } from '@postrider/contract'
import { type Config, configPrefix, type Variable, variables } from './config.ts'
import type { Secrets } from './platform/secrets/secrets-file.ts'

/** @param secrets those that hold, configured or generated */
export function describeSettings(config: Config, secrets: Secrets): SystemSetting[] {
  return Object.entries<Variable<unknown>>(variables).map(([key, variable]) => {
    const value: unknown = Reflect.get(config, key)
    const isGenerated = value === undefined && Reflect.get(secrets, key) !== undefined
    const isSet = value !== undefined
    const show = variable.isSecret === true ? undefined : variable.type.show
    // Roles are a set.
    const shown = value instanceof Set ? [...value] : value
    return {
      name: configPrefix + variable.name,
      value: isSet && show !== undefined ? show(shown) : null,
      is_set: isSet || isGenerated,
      is_generated: isGenerated,
      is_shown: show !== undefined,
    }
  })
}
