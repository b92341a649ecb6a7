import { readdirSync, readFileSync } from 'node:fs'

/** Of the threads of this process, of Linux (proc(5)). */
export function nicenesses(): number[] {
  return readdirSync('/proc/self/task').map((id) => {
    const stat = readFileSync(`/proc/self/task/${id}/stat`, 'utf8')
    // After the name, which may hold anything.
    return Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[16])
  })
}
