function ReviseReplica(desiredObj, desiredReplica)
  local names = {$NAMES}
  local at = desiredObj
  for i = 1, #names - 1 do
    if at[names[i]] == nil then
      at[names[i]] = {}
    end
    at = at[names[i]]
  end
  at[names[#names]] = desiredReplica
  return desiredObj
end
