/**
 * What a name looks like. Two folds, after the idea of UTS 39's skeletons but for host names only
 * and with a small table: letters of other scripts to the Latin ones that they are drawn like, and
 * digits and letter pairs to the letters that a hurried reader takes them for. A fold is only ever
 * compared with the fold of a brand's name, so it may be coarse.
 */

const LOOKS_LATIN: Readonly<Record<string, string>> = {
  // Cyrillic
  а: 'a', ӓ: 'a', в: 'b', ь: 'b', с: 'c', ԁ: 'd', е: 'e', ё: 'e', є: 'e', ҽ: 'e', ғ: 'f', ԍ: 'g',
  һ: 'h', н: 'h', і: 'i', ї: 'i', ӏ: 'l', ј: 'j', к: 'k', қ: 'k', м: 'm', п: 'n', ո: 'n', о: 'o',
  ө: 'o', р: 'p', ԛ: 'q', г: 'r', ѕ: 's', т: 't', ц: 'u', ѵ: 'v', ѡ: 'w', ԝ: 'w', х: 'x', ҳ: 'x',
  у: 'y', ү: 'y', ӡ: 'z', з: '3',
  // Greek
  α: 'a', β: 'b', ϲ: 'c', ε: 'e', ϝ: 'f', η: 'n', ι: 'i', κ: 'k', ν: 'v', ο: 'o', σ: 'o', ρ: 'p',
  τ: 't', υ: 'u', ω: 'w', χ: 'x', γ: 'y', μ: 'u',
  // Armenian
  օ: 'o', ս: 'u', ց: 'g', հ: 'h', ա: 'w', զ: 'q', ք: 'p', յ: 'j', ղ: 'n', մ: 'u',
  // Latin that decomposes to nothing simpler
  ı: 'i', ȷ: 'j', ł: 'l', ø: 'o', đ: 'd', ð: 'd', ħ: 'h', ŧ: 't', ƅ: 'b', ɓ: 'b', ƈ: 'c', ɗ: 'd',
  ɑ: 'a', ɡ: 'g', ɢ: 'g', ɩ: 'i', ɪ: 'i', ƙ: 'k', ʟ: 'l', ɱ: 'm', ɴ: 'n', ɳ: 'n', ŋ: 'n', ᴏ: 'o',
  ɔ: 'c', ᴘ: 'p', ƿ: 'p', ʀ: 'r', ꜱ: 's', ʂ: 's', ƚ: 'l', ɫ: 'l', ʋ: 'v', ᴠ: 'v', ᴡ: 'w', ʏ: 'y',
  ƴ: 'y', ƶ: 'z', ȥ: 'z', ß: 'b', þ: 'p', æ: 'ae', œ: 'oe', ᴀ: 'a', ᴄ: 'c', ᴇ: 'e',
} // biome-ignore format: a table

/** Lower-case; every character as the Latin one it looks like, others as they are. */
export function foldScripts(label: string): string {
  if (/^[\x20-\x7e]*$/.test(label)) return label
  const bare = label.normalize('NFKD').replaceAll(/\p{M}/gu, '').toLowerCase()
  return bare.replaceAll(/\P{ASCII}/gu, (one) => LOOKS_LATIN[one] ?? one)
}

const LOOKS_LIKE: Readonly<Record<string, string>> = {
  rn: 'm', vv: 'w', cl: 'd', i: 'l', '1': 'l', '0': 'o', '2': 'z', '3': 'e', '4': 'a', '5': 's',
  '6': 'b', '7': 't', '8': 'b', '9': 'g', '-': '', _: '',
} // biome-ignore format: a table

/** Of what `foldScripts` gave: digits and pairs as the letters they are mistaken for. */
export function foldLooks(label: string): string {
  return label.replaceAll(/rn|vv|cl|[i\d_-]/g, (one) => LOOKS_LIKE[one] ?? one)
}

const SCRIPTS = [
  ['Latin', /\p{Script=Latin}/u],
  ['Cyrillic', /\p{Script=Cyrillic}/u],
  ['Greek', /\p{Script=Greek}/u],
  ['Armenian', /\p{Script=Armenian}/u],
  ['Cherokee', /\p{Script=Cherokee}/u],
  ['Coptic', /\p{Script=Coptic}/u],
  ['Lisu', /\p{Script=Lisu}/u],
] as const

/**
 * The scripts of a label when it mixes some that are drawn alike; else none. Latin beside Japanese,
 * Korean, Thai or Arabic is ordinary and confuses nobody.
 */
export function mixedScripts(label: string): readonly string[] {
  const found = SCRIPTS.filter(([, pattern]) => pattern.test(label)).map(([name]) => name)
  return found.length > 1 ? found : []
}
