// Which types the signatures of an entry point speak of, and whether they can be imported from it.

import ts from 'typescript'

const OPTIONS = { module: ts.ModuleKind.NodeNext, target: ts.ScriptTarget.ES2022, skipLibCheck: true, types: [] }

/**
 * @param {string} file  the declarations of an entry point
 * @param {string} root  the folder of all declarations of the package
 * @returns {string[]} types of the package that are mentioned, with what mentions them, and cannot be imported.
 *   Constructors are not looked at: they take
 *   what only the package itself has
 */
export function unnamedTypes (file, root) {
  const program = ts.createProgram([file], OPTIONS)
  const checker = program.getTypeChecker()
  const behind = symbol => symbol && symbol.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(symbol) : symbol
  const isOurs = symbol =>
    symbol?.declarations?.some(declaration => declaration.getSourceFile().fileName.startsWith(root))
  const exported = checker.getExportsOfModule(checker.getSymbolAtLocation(program.getSourceFile(file)))
  const names = new Set(exported.map(({ name }) => name))
  const unnamed = []
  // A set gives also what is added while it is gone through: what is mentioned mentions others.
  const symbols = new Set(exported.map(behind))
  for (const symbol of symbols) {
    const look = node => {
      if (ts.isConstructorDeclaration(node)) return
      const type = mentioned(node)
      if (isOurs(type) && !(type.flags & ts.SymbolFlags.TypeParameter)) {
        if (names.has(type.name)) symbols.add(type)
        else unnamed.push(`${type.name}, of ${symbol.name}`)
      }
      ts.forEachChild(node, look)
    }
    symbol.declarations.forEach(look)
  }
  return [...new Set(unnamed)]

  function mentioned (node) {
    const name = ts.isTypeReferenceNode(node) ? node.typeName : ts.isImportTypeNode(node) ? node.qualifier : undefined
    return name && behind(checker.getSymbolAtLocation(ts.isQualifiedName(name) ? name.right : name))
  }
}
